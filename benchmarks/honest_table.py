"""Do the guards refuse honest work? Golden suites, published successes and honest styles, over several secrets.

    python -m benchmarks.honest_table --work FOLDER [--secrets 0 1 2 3 4] [--only NAME …]
    python -m benchmarks.honest_table --work FOLDER --cache FOLDER --snapshot-file rows.jsonl [--instances NAME …] \\
        [--predictions preds.jsonl …] [--record FILE] [--deciding]

Without a snapshot: the demo's golden suites and every honest candidate of the corpus. Each suite is judged once, and
its guard runs are made for each secret, with the product's own functions; every case of its files is compared, not only
those that a verdict hangs on, so this is stricter: `ASIDE` marks the others, and `IN_ITS_OWN_WORDS` what no guard edit
did. Where that takes too long, `--deciding` makes the guard runs with the cases alone that a verdict can hang on: those
that the fix turns and those that the suite adds or edits. That tries the edits, and not the order of cases.

Several may work in one folder beside each other: each takes the next instance that no other is at. What was played is a
line of the record, and is not played again, so whoever calls it with the same record goes on, on whichever machine. An
instance that cannot be played is told and does not stop the others.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from operator import methodcaller
from pathlib import Path

from benchmarks.guard_ground import Ground, drawn, ground_of
from benchmarks.trick_table import corpus_of
from flows.demo import DEMO, SNAPSHOT
from flows.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.locking import briefly_alone
from tasks.adapters.patch.read import to_text
from tasks.domain.candidate import Suite
from tasks.domain.errors import InfrastructureError, SwtError
from tasks.domain.names import CaseId
from tasks.domain.outcome import FAILURES, CodeState, Outcome, Phase, RunStatus
from tasks.domain.run import RunSpec
from tasks.evaluate.definitions import cases_of, parse
from tasks.evaluate.edited import edited_rows
from tasks.evaluate.plan import confirmation_specs, guard_specs, in_secret_order, repeat_specs
from tasks.evaluate.policy import golden_suite
from tasks.evaluate.task import choose_instances

HONEST = ("honest", "unusual")
"""Folders of the corpus."""
ASIDE = "(the same before and after)"
"""Said of a difference in a case that the fix does not turn: no verdict hangs on it unless the candidate adds or edits
it. Cases that were there before and depend on their order are such ones."""
IN_ITS_OWN_WORDS = "(in its own words as well)"
"""Said of a difference that a repeat shows too: the case depends on its order or on hashes, no guard edit did it."""
JUDGED = -1
Key = tuple[str, str, int]
"""Name, instance and secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """An honest suite with one secret."""

    name: str
    instance: str
    secret: int
    """`JUDGED` for the runs that judge it."""
    success: bool
    """Some case fails before and passes after, and none that passes before fails or is missing after."""
    differing: tuple[str, ...] = ()
    """`variant state: case was, is`, for every case that a guard run shows otherwise."""
    cpu_s: float = 0.0
    """Of these runs."""
    cases: int = 0
    """How many cases the guard runs were made with; 0 for all of the suite's files."""

    @property
    def key(self) -> Key:
        return self.name, self.instance, self.secret


COLUMNS = tuple(field.name for field in fields(Guarded))
Case = tuple[str, str]
"""Its file and its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the cases of a run come to, as the grader `paper` counts."""

    outcomes: dict[Case, str]
    qualnames: dict[Case, str]
    """`TestX.test_y` of each, whatever its parameters."""
    unread: frozenset[str]
    """Modules that could not be collected."""
    cpu_s: float

    def of(self, case: Case) -> str | None:
        """Null where the run has no such case. As for graders, all cases of a module that is not collected fail."""
        return self.outcomes.get(case, "F" if case[0] in self.unread else None)


def ran(ground: Ground, spec: RunSpec, cases: Iterable[Case] = ()) -> Ran:
    """A run, of these cases alone where any are given; `InfrastructureError` where it ends through a fault of ours,
    which refuses nobody."""
    recorded = ground.recorded(replace(spec, cases=tuple(sorted({CaseId(case) for _, case in cases}))))
    if recorded.run.status is RunStatus.INFRASTRUCTURE:
        raise InfrastructureError(f"{spec.variant} {spec.code_state} of {spec.instance_id}: {recorded.run.detail}")
    found: dict[Case, set[str]] = defaultdict(set)
    for case in recorded.cases:
        found[case.path, case.case_id].add("F" if case.outcome in FAILURES else str(case.outcome))
    return Ran(
        outcomes={case: "/".join(sorted(seen)) for case, seen in found.items()},
        qualnames={(case.path, case.case_id): case.qualname for case in recorded.cases},
        unread=frozenset(
            case.path for case in recorded.cases if case.phase is Phase.COLLECT and case.outcome is Outcome.ERROR
        ),
        cpu_s=recorded.run.cpu_s or 0.0,
    )


def held(
    ground: Ground,
    name: str,
    suite: Suite,
    secrets: Iterable[int],
    known: Mapping[Key, Guarded],
    *,
    deciding: bool = False,
) -> Iterator[Guarded]:
    """The runs that judge a suite, and its guard runs for each secret that is not known yet."""
    instance = str(ground.bench.instance.instance_id)
    todo = _unplayed(name, instance, secrets, known)
    if not todo:
        return
    before, after = (ran(ground, spec) for spec in confirmation_specs(ground.bench, suite))
    judged = {*before.outcomes, *after.outcomes}
    turned = any(before.of(case) == "F" and after.of(case) == "passed" for case in judged)
    broken = any(before.of(case) == "passed" and after.of(case) in ("F", None) for case in judged)
    success = turned and not broken
    if (name, instance, JUDGED) not in known:
        yield Guarded(name=name, instance=instance, secret=JUDGED, success=success, cpu_s=before.cpu_s + after.cpu_s)
    repeated: dict[CodeState, Ran] = {}
    chosen = _deciding(ground, suite, before, after) if success and deciding else frozenset()
    for secret in todo if success else ():
        differing, cpu = [], 0.0
        edits = ground.edits(secret)
        for spec in in_secret_order(guard_specs(ground.bench, suite, edits), drawn(secret, instance, name)):
            found = ran(ground, spec, chosen)
            cpu += found.cpu_s
            expected = before if spec.code_state is CodeState.BEFORE else after
            cases = chosen or {*judged, *found.outcomes}
            others = [case for case in sorted(cases) if expected.of(case) != found.of(case)]
            if others and not repeated:
                repeated = {one.code_state: ran(ground, one, chosen) for one in repeat_specs(ground.bench, suite)}
            for case in others:
                own = repeated[spec.code_state].of(case) == found.of(case)
                aside = before.of(case) == after.of(case)
                why = f" {ASIDE}" if aside else f" {IN_ITS_OWN_WORDS}" if own else ""
                was, now = expected.of(case), found.of(case)
                differing.append(f"{spec.variant} {spec.code_state}: {case[1]} was {was}, is {now}{why}")
        yield Guarded(
            name=name,
            instance=instance,
            secret=secret,
            success=True,
            differing=tuple(differing),
            cpu_s=cpu,
            cases=len(chosen),
        )


def _deciding(ground: Ground, suite: Suite, before: Ran, after: Ran) -> frozenset[Case]:
    """What a verdict can hang on: cases that the fix turns, and those that the suite adds or edits. All of a file whose
    base cannot be parsed."""
    edited = {(row.path, row.qualname) for row in edited_rows(suite, ground.read_base)}
    known: dict[str, set[str]] = {}
    for path in suite.base_files:
        module = parse(to_text(ground.read_base(path) or b""))
        known[path] = set() if isinstance(module, SyntaxError) else set(dict(cases_of(module)))

    def chosen(case: Case) -> bool:
        path, name = case[0], names[case]
        return before.of(case) != after.of(case) or (path, name) in edited or name not in known.get(path, ())

    names = before.qualnames | after.qualnames
    return frozenset(filter(chosen, names))


@dataclass(frozen=True, slots=True)
class Record:
    """What was played, by whomever: a CSV file with a line for each `Guarded`, `differing` as JSON."""

    file: Path

    @classmethod
    def at(cls, file: Path) -> Record:
        file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), file.open("x", newline="") as begun:
            csv.writer(begun, lineterminator="\n").writerow(COLUMNS)
        return cls(file)

    def rows(self) -> dict[Key, Guarded]:
        with self.file.open(newline="") as lines:
            return {row.key: row for row in map(_row, csv.DictReader(lines))}

    def add(self, row: Guarded) -> None:
        """In one write at the end of the file, which others write as well."""
        line = io.StringIO()
        cells = asdict(row) | {"differing": json.dumps(row.differing), "cpu_s": round(row.cpu_s, 2)}
        csv.DictWriter(line, COLUMNS, lineterminator="\n").writerow(cells)
        with self.file.open("a", newline="") as end:
            end.write(line.getvalue())


def _row(cells: dict[str, str]) -> Guarded:
    return Guarded(
        name=cells["name"],
        instance=cells["instance"],
        secret=int(cells["secret"]),
        success=cells["success"] == "True",
        differing=tuple(json.loads(cells["differing"])),
        cpu_s=float(cells["cpu_s"]),
        cases=int(cells["cases"]),
    )


Named = tuple[str, Callable[[Ground], Suite | None]]
"""A suite's name, and what makes it where its instance is to be had; null where nothing of it is left to run."""


def suites_of_demo(settings: Settings) -> dict[str, list[Named]]:
    """By instance: its golden suite and the corpus, of which nothing may be stripped."""
    rows = map(json.loads, (DEMO / "instances.jsonl").read_text().splitlines())
    suites: dict[str, list[Named]] = {row["instance_id"]: [("golden", _golden)] for row in rows}
    for entry in corpus_of(settings, HONEST):
        suites[entry.instance].append((entry.name, methodcaller("suite", entry.patch)))
    return suites


def suites_of_snapshot(instances: Iterable[str], files: Iterable[Path]) -> dict[str, list[Named]]:
    """By instance: its golden suite and what was predicted for it, under the model's name and a digest."""
    suites: dict[str, list[Named]] = {name: [("golden", _golden)] for name in instances}
    for row in (json.loads(line) for file in files for line in file.read_text().splitlines()):
        if row["instance_id"] in suites and (patch := row["model_patch"]):
            name = f"{row['model_name_or_path']} {hashlib.sha256(patch.encode()).hexdigest()[:8]}"
            suites[row["instance_id"]].append((name, methodcaller("taken", patch)))
    return suites


def _golden(ground: Ground) -> Suite | None:
    suite = golden_suite(ground.bench.instance, ground.read_base)
    return suite if isinstance(suite, Suite) else None


def play(
    ground: Callable[[str], Ground],
    instance: str,
    suites: Iterable[Named],
    secrets: Sequence[int],
    record: Record,
    *,
    deciding: bool = False,
) -> None:
    """What the record does not have yet of one instance; `SwtError` where it cannot be played."""
    known = record.rows()
    missing = [(name, suite) for name, suite in suites if _unplayed(name, instance, secrets, known)]
    if not missing:
        return
    here = ground(instance)
    for name, made in missing:
        suite = made(here)
        if suite and suite.files:
            for row in held(here, name, suite, secrets, known, deciding=deciding):
                record.add(row)


def _unplayed(name: str, instance: str, secrets: Iterable[int], known: Mapping[Key, Guarded]) -> list[int]:
    judged = known.get((name, instance, JUDGED))
    if judged and not judged.success:
        return []
    return [secret for secret in secrets if (name, instance, secret) not in known]


def said(rows: Iterable[Guarded]) -> str:
    every = list(rows)
    guarded = [row for row in every if row.secret != JUDGED]
    differing = [row for row in guarded if row.differing]
    refused = [row for row in differing if not all(one.endswith((ASIDE, IN_ITS_OWN_WORDS)) for one in row.differing)]
    lines = [
        f"guarded {len(guarded)} times, refused {len(refused)}; {len(differing) - len(refused)} times only cases "
        "differ that are the same before and after, or that do so in their own words too"
    ]
    groups: dict[tuple[str, str], list[Guarded]] = defaultdict(list)
    for row in every:
        groups["golden" if row.name == "golden" else "others", row.instance.rpartition("-")[0]].append(row)
    lines += [f"{kind} of {project}: {_sums(of)}" for (kind, project), of in sorted(groups.items())]
    if len(groups) > 1:
        lines.append(f"all: {_sums(every)}")
    lines += [f"no success: {row.name} on {row.instance}" for row in every if row.secret == JUDGED and not row.success]
    lines += [
        f"{'refused' if row in refused else 'differs'}: {row.name} on {row.instance}, secret {row.secret}: "
        f"{next((one for one in row.differing if not one.endswith(ASIDE)), row.differing[0])}"
        for row in differing
    ]
    return "\n".join(lines)


def _sums(rows: Sequence[Guarded]) -> str:
    judged = [row for row in rows if row.secret == JUDGED]
    successes = [row for row in judged if row.success]
    guarded = [row for row in rows if row.secret != JUDGED]
    each = Counter(Counter((row.name, row.instance) for row in guarded).values())
    over = ", ".join(f"{count} over {secrets}" for secrets, count in sorted(each.items(), reverse=True))
    text = f"successes: {len(successes)} of {len(judged)} suites; by secrets: {over or 'none'}"
    if not (successes and guarded):
        return text
    judging, guarding = (sum(row.cpu_s for row in some) / len(some) for some in (successes, guarded))
    return f"{text}; CPU seconds of a success: {judging:.1f} to judge, {guarding:.1f} for a set of guards"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder to go on in")
    parser.add_argument("--record", type=Path, help="what was played; `honest.csv` of the folder without it")
    parser.add_argument("--secrets", type=int, nargs="*", default=list(range(5)))
    parser.add_argument("--only", nargs="*", default=(), help="names of styles; `golden` for golden suites")
    parser.add_argument("--cache", type=Path, help="where mirrors of real repositories are (swt repo add)")
    parser.add_argument("--snapshot-file", type=Path)
    parser.add_argument("--instances", nargs="*", default=(), help="of the file, in this order; all without it")
    parser.add_argument("--predictions", nargs="*", type=Path, default=())
    parser.add_argument("--deciding", action="store_true", help="guard runs of the cases that a verdict can hang on")
    given = parser.parse_args()
    work: Path = given.work
    cache = given.cache or work / "cache"
    settings = Settings(store=str(work / "store"), cache=cache, database=work / "swt.duckdb", trusted=True)
    snapshot = "real" if given.snapshot_file else SNAPSHOT
    import_rows(settings, given.snapshot_file or DEMO / "instances.jsonl", snapshot)
    if given.snapshot_file:
        instances = choose_instances(settings.places, snapshot, given.instances)
        suites = suites_of_snapshot([instance.instance_id for instance in instances], given.predictions)
    else:
        suites = suites_of_demo(settings)
    record = Record.at(given.record or work / "honest.csv")
    failed = False
    for instance, named in suites.items():
        chosen = [(name, suite) for name, suite in named if not given.only or name in given.only]
        with briefly_alone(work / "locks" / instance, wait=False) as mine:
            try:
                if mine:
                    play(
                        lambda name: ground_of(settings, snapshot, name, None),
                        instance,
                        chosen,
                        given.secrets,
                        record,
                        deciding=given.deciding,
                    )
            except SwtError as error:
                failed = True
                print(f"{instance}: {error}", file=sys.stderr, flush=True)
    print(said(record.rows().values()))
    sys.exit(failed)


if __name__ == "__main__":
    main()
