"""Do the guards refuse honest work? Golden suites, published successes and honest styles, over several secrets.

    python -m benchmarks.honest_table --work FOLDER [--secrets 5] [--only NAME …]
    python -m benchmarks.honest_table --work FOLDER --cache FOLDER --snapshot-file rows.jsonl --instances NAME … \\
        [--predictions preds.jsonl …]

Without a snapshot: the demo's golden suites and every honest candidate of the corpus. Each suite is judged once, and
its guard runs are made for each secret, with the product's own functions; every case of its files is compared, not only
those that a verdict hangs on, so this is stricter: `ASIDE` marks the others, and `IN_ITS_OWN_WORDS` what no guard edit
did. Called again with the same folder it goes on.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.guard_ground import Ground, drawn, ground_of
from benchmarks.trick_table import corpus_of
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.settings import Settings
from flows.snapshots import import_rows
from tasks.domain.candidate import Suite
from tasks.domain.errors import InfrastructureError
from tasks.domain.outcome import CodeState, Outcome, Phase, RunStatus
from tasks.domain.run import RunSpec
from tasks.evaluate.plan import confirmation_specs, guard_specs, in_secret_order, repeat_specs
from tasks.evaluate.policy import golden_suite

HONEST = ("honest", "unusual")
"""Folders of the corpus."""
ASIDE = "(the same before and after)"
"""Said of a difference in a case that the fix does not turn: no verdict hangs on it unless the candidate adds or edits
it. Cases that were there before and depend on their order are such ones."""
IN_ITS_OWN_WORDS = "(in its own words as well)"
"""Said of a difference that a repeat shows too: the case depends on its order or on hashes, no guard edit did it."""
FAILS = (Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """An honest suite with one secret."""

    name: str
    instance: str
    secret: int
    """-1 for the runs that judge it."""
    success: bool
    """Some case fails before and passes after, and none that passes before fails after."""
    differing: tuple[str, ...] = ()
    """`variant state: case was, is`, for every case that a guard run shows otherwise."""
    cpu_s: float = 0.0
    """Of these runs."""


Case = tuple[str, str]
"""Its file and its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the cases of a run come to, as the grader `paper` counts."""

    outcomes: dict[Case, str]
    unread: frozenset[str]
    """Modules that could not be collected."""
    cpu_s: float

    def of(self, case: Case) -> str | None:
        """Null where the run has no such case. As for graders, all cases of a module that is not collected fail."""
        return self.outcomes.get(case, "F" if case[0] in self.unread else None)


def ran(ground: Ground, spec: RunSpec) -> Ran:
    """A run; `InfrastructureError` where it ends through a fault of ours, which refuses nobody."""
    recorded = ground.recorded(spec)
    if recorded.run.status is RunStatus.INFRASTRUCTURE:
        raise InfrastructureError(f"{spec.variant} {spec.code_state} of {spec.instance_id}: {recorded.run.detail}")
    found: dict[Case, set[str]] = defaultdict(set)
    for case in recorded.cases:
        found[case.path, case.case_id].add("F" if case.outcome in FAILS else str(case.outcome))
    return Ran(
        outcomes={case: "/".join(sorted(seen)) for case, seen in found.items()},
        unread=frozenset(
            case.path for case in recorded.cases if case.phase is Phase.COLLECT and case.outcome is Outcome.ERROR
        ),
        cpu_s=recorded.run.cpu_s or 0.0,
    )


def held(
    ground: Ground, name: str, suite: Suite, secrets: Iterable[int], known: set[tuple[str, str, int]]
) -> Iterator[Guarded]:
    """The runs that judge a suite, and its guard runs for each secret that is not known yet."""
    instance = str(ground.bench.instance.instance_id)
    todo = [secret for secret in secrets if (name, instance, secret) not in known]
    if not todo:
        return
    before, after = (ran(ground, spec) for spec in confirmation_specs(ground.bench, suite))
    judged = {*before.outcomes, *after.outcomes}
    turned = any(before.of(case) == "F" and after.of(case) == "passed" for case in judged)
    broken = any(before.of(case) == "passed" and after.of(case) != "passed" for case in judged)
    success = turned and not broken
    if (name, instance, -1) not in known:
        yield Guarded(name=name, instance=instance, secret=-1, success=success, cpu_s=before.cpu_s + after.cpu_s)
    repeated: dict[CodeState, Ran] = {}
    for secret in todo if success else ():
        differing, cpu = [], 0.0
        edits = ground.edits(secret)
        for spec in in_secret_order(guard_specs(ground.bench, suite, edits), drawn(secret, instance, name)):
            found = ran(ground, spec)
            cpu += found.cpu_s
            expected = before if spec.code_state is CodeState.BEFORE else after
            cases = [case for case in sorted({*judged, *found.outcomes}) if expected.of(case) != found.of(case)]
            if cases and not repeated:
                repeated = {one.code_state: ran(ground, one) for one in repeat_specs(ground.bench, suite)}
            for case in cases:
                own = repeated[spec.code_state].of(case) == found.of(case)
                aside = before.of(case) == after.of(case)
                why = f" {ASIDE}" if aside else f" {IN_ITS_OWN_WORDS}" if own else ""
                was, now = expected.of(case), found.of(case)
                differing.append(f"{spec.variant} {spec.code_state}: {case[1]} was {was}, is {now}{why}")
        yield Guarded(name=name, instance=instance, secret=secret, success=True, differing=tuple(differing), cpu_s=cpu)


def suites_of_demo(settings: Settings) -> Iterator[tuple[Ground, str, Suite]]:
    styles = corpus_of(settings, HONEST)
    grounds = {}
    for row in (DEMO / "instances.jsonl").read_text().splitlines():
        name = json.loads(row)["instance_id"]
        grounds[name] = ground = ground_of(settings, SNAPSHOT, name, None)
        suite = golden_suite(ground.bench.instance, ground.read_base)
        assert isinstance(suite, Suite)
        yield ground, "golden", suite
    for entry in styles:
        ground = grounds[entry.instance]
        yield ground, entry.name, ground.suite(entry.patch)


def suites_of_snapshot(
    settings: Settings, names: Iterable[str], files: Iterable[Path]
) -> Iterator[tuple[Ground, str, Suite]]:
    predictions = [(file, json.loads(line)) for file in files for line in file.read_text().splitlines()]
    for name in names:
        ground = ground_of(settings, "real", name, None)
        suite = golden_suite(ground.bench.instance, ground.read_base)
        if isinstance(suite, Suite) and suite.files:
            yield ground, "golden", suite
        for file, row in predictions:
            if row["instance_id"] == name and row["model_patch"]:
                taken = ground.taken(row["model_patch"])
                if taken is not None and taken.files:
                    yield ground, f"{row['model_name_or_path']} in {file.name}", taken


def said(rows: Iterable[Guarded]) -> str:
    every = list(rows)
    successes = [row for row in every if row.secret < 0 and row.success]
    guarded = [row for row in every if row.secret >= 0]
    differing = [row for row in guarded if row.differing]
    refused = [row for row in differing if not all(one.endswith((ASIDE, IN_ITS_OWN_WORDS)) for one in row.differing)]
    lines = [
        f"{len(successes)} successes of {sum(row.secret < 0 for row in every)} suites on "
        f"{len({row.instance for row in every})} instances; guarded {len(guarded)} times, refused {len(refused)}; "
        f"{len(differing) - len(refused)} times only cases differ that are the same before and after, or that do so in "
        "their own words too"
    ]
    lines += [f"no success: {row.name} on {row.instance}" for row in every if row.secret < 0 and not row.success]
    lines += [
        f"{'refused' if row in refused else 'differs'}: {row.name} on {row.instance}, secret {row.secret}: "
        f"{next((one for one in row.differing if not one.endswith(ASIDE)), row.differing[0])}"
        for row in differing
    ]
    judging, guarding = sum(row.cpu_s for row in successes), sum(row.cpu_s for row in guarded)
    if successes and guarded:
        each, guards = judging / len(successes), guarding / len(guarded)
        lines.append(f"CPU seconds of a success: {each:.2f} for the runs that judge it, {guards:.2f} for its guards")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder to go on in")
    parser.add_argument("--secrets", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=(), help="names of styles; `golden` for golden suites")
    parser.add_argument("--cache", type=Path, help="where mirrors of real repositories are (swt repo add)")
    parser.add_argument("--snapshot-file", type=Path)
    parser.add_argument("--instances", nargs="*", default=())
    parser.add_argument("--predictions", nargs="*", type=Path, default=())
    given = parser.parse_args()
    work: Path = given.work
    work.mkdir(parents=True, exist_ok=True)
    cache = given.cache or work / "cache"
    settings = Settings(store=str(work / "store"), cache=cache, database=work / "swt.duckdb", trusted=True)
    if given.snapshot_file:
        import_rows(settings, given.snapshot_file, "real")
        suites = suites_of_snapshot(settings, given.instances, given.predictions)
    else:
        build_demo_mirror(settings)
        import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
        suites = suites_of_demo(settings)
    file = work / "honest.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [Guarded(**{**row, "differing": tuple(row["differing"])}) for row in map(json.loads, lines)]
    for ground, name, suite in suites:
        if given.only and name not in given.only:
            continue
        known = {(row.name, row.instance, row.secret) for row in rows}
        for row in held(ground, name, suite, range(given.secrets), known):
            rows.append(row)
            with file.open("a") as out:
                out.write(json.dumps(asdict(row)) + "\n")
    print(said(rows))


if __name__ == "__main__":
    main()
