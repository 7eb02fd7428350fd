"""How often does a validation find a case that flips, and at what cost? And are stable cases left alone?

    python -m benchmarks.flakiness --work FOLDER

Two halves. The first draws by lot what becomes of 500 instances each whose own golden test flips after the fix: the
plan, the judgement and the verdict are the real ones, and only the outcomes of the runs are drawn. The second runs real
processes through the real validation: one instance whose test file has 200 stable cases and 200 each that flip in 5, 20
and 50 % of runs, whatever the code. Stopped, it goes on where it was.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.flipping_repository import RATES, STABLE, rate_of, settings_with_instance
from benchmarks.measured import machine, text_table
from flows.interface.parameters import ValidationRequest
from flows.interface.settings import Settings
from flows.validate import validate_here
from tasks.adapters.store.rows.store import Store
from tasks.adapters.uv.host_environment import host_environment
from tasks.domain.candidate import Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, RepoPath
from tasks.domain.outcome import CodeState, Outcome, RunStatus, SandboxKind, SuiteKind
from tasks.domain.run import Limits, Run, RunSpec, files_key
from tasks.domain.validation import CaseStability, Stability
from tasks.evaluate.runs.plan import RunContext, suite_specs
from tasks.evaluate.runs.validation_plan import Repeats, doubt_specs, settling_specs, validation_specs
from tasks.validate.judge import Observed, SeenCase, case_rows
from tasks.validate.observations import ToObserve, golden_suites_of, look
from tasks.validate.verdict import STABLE as STABLE_KINDS
from tasks.validate.verdict import Evidence, GoldenMiss, finding, quarantined

DRAWS = 500
SNAPSHOT = "flips"
STEADY, FLIPPING = CaseId("steady"), CaseId("flipping")
PLANS = {"3 before, 5 after": Repeats(), "5 before, 20 after": Repeats(before=5, after=20)}
"""The default, and one that is four times as thorough on the fixed code."""

STAGES = (("first runs", Repeats(more=0)), ("settled", Repeats()))
"""As a case is judged alone, and after the many runs that any disagreement costs."""
SO_FAR = (("so far", None),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one real validation says of the cases of one flip rate; rate 0 is the stable ones."""

    rate: float
    cases: int
    flagged: int
    runs: tuple[int, int]
    """Runs that a case was judged by: before, after."""


def found_by(settings: Settings, instance: TaskInstance) -> tuple[Found, ...]:
    """What the runs say that the store has by now."""
    store = Store(settings.store)
    suite = golden_suites_of(store, [instance])[instance.instance_key]
    env_id = store.read(Run, instance_key=instance.instance_key)[0].env_id
    ((_, seen),) = look(store, [ToObserve(instance=instance, suite=suite, env_id=env_id)])
    golden = (seen.cases[SuiteKind.GOLDEN], seen.observed[SuiteKind.GOLDEN])
    rows = case_rows(instance.instance_key, env_id, *golden)
    return tuple(_found(rate, [row for row in rows if rate_of(row.label) == rate]) for rate in (STABLE, *RATES))


def _found(rate: float, rows: Sequence[CaseStability]) -> Found:
    flagged = sum(row.stability not in STABLE_KINDS for row in rows)
    return Found(rate=rate, cases=len(rows), flagged=flagged, runs=(rows[0].before_runs, rows[0].after_runs))


def expected(rate: float, before: int, after: int) -> float:
    """Chance that runs of a case that flips on both sides disagree on either."""
    agree = [(1 - rate) ** runs + rate**runs for runs in (before, after)]
    return 1 - agree[0] * agree[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of one instance with a golden test that flips after the fix."""

    refused: bool
    """Its golden tests were not solved in the first place."""
    flagged: bool
    listed: bool
    """It is valid, and the flipping test is in its list: the flake went through."""
    runs: int
    """Runs beyond those that every evaluation makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The runs of each round of one instance's validation."""

    bench: RunContext
    judging: Sequence[RunSpec]
    varied: Sequence[RunSpec]
    settling: Sequence[RunSpec]
    doubting: Sequence[RunSpec]

    @classmethod
    def of(cls, bench: RunContext, suite: Suite, repeats: Repeats) -> Rounds:
        return cls(
            bench=bench,
            judging=suite_specs(bench, suite),
            varied=validation_specs(bench, suite, repeats),
            settling=settling_specs(bench, suite, repeats),
            doubting=doubt_specs(bench, suite),
        )


def draw(rounds: Rounds, rate: float, lot: random.Random) -> Fate:
    """One validation as the flow does it, with outcomes by lot. A second golden test is steady."""
    seen = _observed(rounds.judging, rate, lot)
    solved = all(run.outcomes.get(FLIPPING) is Outcome.PASSED for run in seen if run.code_state is CodeState.AFTER)
    more = rounds.varied if solved else rounds.doubting
    seen += _observed(more, rate, lot)
    runs = len(more)
    if solved and quarantined(_rows(rounds.bench, seen)):
        seen += _observed(rounds.settling, rate, lot)
        runs += len(rounds.settling)
    return _fate(rounds.bench, seen, solved=solved, runs=runs)


def _fate(bench: RunContext, seen: Sequence[Observed], *, solved: bool, runs: int) -> Fate:
    rows = _rows(bench, seen)
    valid = finding(Evidence(runs=seen, cases=rows, golden=None if solved else GoldenMiss(reason="fails-after"))).valid
    (row,) = [row for row in rows if row.case_id == FLIPPING]
    return Fate(
        refused=not solved,
        flagged=row.stability not in STABLE_KINDS,
        listed=valid and row.stability is Stability.FAIL_TO_PASS,
        runs=runs,
    )


def _rows(bench: RunContext, seen: Sequence[Observed]) -> tuple[CaseStability, ...]:
    cases = [SeenCase(case_id=name, path=RepoPath("test.py"), label=name) for name in (STEADY, FLIPPING)]
    return case_rows(bench.instance.instance_key, bench.environment.env_id, cases, seen)


def _observed(specs: Iterable[RunSpec], rate: float, lot: random.Random) -> list[Observed]:
    return list(_drawn(specs, rate, lot))


def _drawn(specs: Iterable[RunSpec], rate: float, lot: random.Random) -> Iterator[Observed]:
    """Both golden tests fail before the fix; after it one passes, and the other in all but `rate` of the runs."""
    for spec in specs:
        if spec.suite_kind is SuiteKind.GOLDEN:
            fixed = spec.code_state is CodeState.AFTER
            passes = {STEADY: fixed, FLIPPING: fixed and lot.random() >= rate}
            yield Observed(
                suite_kind=spec.suite_kind,
                code_state=spec.code_state,
                variant=spec.variant,
                status=RunStatus.COMPLETED,
                outcomes={name: Outcome.PASSED if good else Outcome.FAILED for name, good in passes.items()},
            )


def bench_of(instance: TaskInstance) -> tuple[RunContext, Suite]:
    """The plan's view of an instance and of its golden suite."""
    environment = host_environment(instance.repo).environment
    bench = RunContext(
        instance=instance,
        environment=environment,
        watches={},
        sandbox=SandboxKind.BUBBLEWRAP,
        limits=Limits(),
        runner_version="drawn",
    )
    files = (RepoPath("tests/test_coins.py"),)
    suite = Suite(
        suite_id=Suite.id_of(instance.instance_key, instance.test_patch),
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        kind=SuiteKind.GOLDEN,
        patch=instance.test_patch,
        files=files,
        files_key=files_key(files),
        base_files=files,
        base_files_key=files_key(files),
    )
    return bench, suite


def measured_table(settings: Settings, instance: TaskInstance, stages: Iterable[tuple[str, Repeats | None]]) -> str:
    """What real runs find; a stage without repeats runs nothing more and takes what the store has."""
    rows = []
    for name, repeats in stages:
        if repeats:
            validate_here(ValidationRequest(snapshot=SNAPSHOT), replace(settings, trusted=True), repeats)
        rows += [[name, *_cells(found)] for found in found_by(settings, instance)]
    runs = Store(settings.store).read(Run)
    cost = f"{len(runs)} runs, {sum(run.cpu_s or 0 for run in runs):.0f} CPU s in all"
    head = ("", "flip rate", "runs before + after", "found flaky", "share", "expected")
    return f"{text_table(head, rows)}\n\n{cost}"


def _cells(found: Found) -> list[str]:
    before, after = found.runs
    flagged, share = f"{found.flagged} of {found.cases}", f"{found.flagged / found.cases:.1%}"
    return [f"{found.rate:.0%}", f"{before} + {after}", flagged, share, f"{expected(found.rate, before, after):.1%}"]


def drawn_table(instance: TaskInstance) -> str:
    """What becomes of instances, by flip rate and thoroughness."""
    bench, suite = bench_of(instance)
    rows = []
    for name, repeats in PLANS.items():
        rounds = Rounds.of(bench, suite, repeats)
        for rate in (STABLE, *RATES):
            lot = random.Random(f"{name} {rate}")  # noqa: S311 - not a secret
            rows.append([name, f"{rate:.0%}", *_summed([draw(rounds, rate, lot) for _ in range(DRAWS)])])
    return text_table(("plan", "flip rate", "refused", "quarantined", "goes through", "further runs"), rows)


def _summed(fates: Sequence[Fate]) -> list[str]:
    refused = sum(fate.refused for fate in fates)
    flagged = sum(fate.flagged and not fate.refused for fate in fates)
    listed = sum(fate.listed for fate in fates)
    shares = [f"{number / len(fates):.1%}" for number in (refused, flagged, listed)]
    return [*shares, f"{sum(fate.runs for fate in fates) / len(fates):.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--drawn-only", action="store_true", help="only the first half")
    parser.add_argument("--so-far", action="store_true", help="only what the runs say that were made by now")
    given = parser.parse_args()
    settings, instance = settings_with_instance(given.work, SNAPSHOT)
    print(machine())
    if not given.so_far:
        print(drawn_table(instance), flush=True)
    if not given.drawn_only:
        print(measured_table(settings, instance, SO_FAR if given.so_far else STAGES))


if __name__ == "__main__":
    main()
