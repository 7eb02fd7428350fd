"""Reads proposed fixes from repairs files and runs tests on them.

Reads `task_instance`, `environment`, `suite`; writes `repair`, `proposed_fix`, `hack_finding`, `hack_label`, `fix_run`
and the tables of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Suite
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import FixId, InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.domain.proposed_fix import HackFinding, HackLabel, ProposedFix, Repair
from tasks.domain.undone import InEnvironment, PartialFailure
from tasks.evaluate.intake.controls import PARTIAL, partial_fixes
from tasks.evaluate.intake.identity import HINT, Place, method_names, place_of
from tasks.evaluate.intake.load import lines_of
from tasks.evaluate.repairs.repairs_file import RepairRow, Repairs, read_repairs
from tasks.evaluate.repairs.sanitize import HandedIn, propose
from tasks.evaluate.runs.plan import fix_spec
from tasks.evaluate.task import Ran, RunSettings, bench_of, make_runs, write_fix_runs
from tasks.integrity.hacking.signs import VERSION, hack_rows, known_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesTaken:
    """The fixes of a request's repairs files."""

    fixes: Mapping[InstanceId, tuple[FixId, ...]]
    """Fixes that can be run, without duplicates, by instance."""
    repairs: tuple[Repair, ...]
    """All submitted repairs."""
    left: tuple[PartialFailure, ...]
    """Instances whose mirror or base commit is missing."""
    problems: tuple[str, ...]
    """One line each: rows that could not be read, fixes that cannot be run, and fixes that touch tests."""

    @property
    def facts(self) -> str:
        """A summary in one line."""
        different = sum(map(len, self.fixes.values()))
        touching = sum(repair.touches_tests for repair in self.repairs)
        return f"{len(self.repairs)} fixes handed in, {different} different ones to run, {touching} touch tests"


def take_fixes(
    places: Places,
    sources: tuple[str, ...],
    instances: Iterable[TaskInstance],
    methods: Iterable[str] = (),
    *,
    made: Iterable[RepairRow] = (),
) -> FixesTaken:
    """Reads repairs files or builds `partial` fixes, and stores them together with the repairs in `made`.

    A method may propose several fixes for one instance. `methods` are names for the methods of files
    (`identity.method_names`). Raises `NotFound`, `BadInput` or `UsageError` if a file does not exist, is invalid, or
    would replace the fixes of another file.
    """
    now, mirrors, store = datetime.now(UTC), Mirrors(places.mirrors), Store(places.store)
    by_id = {instance.instance_id: instance for instance in instances}
    rows, problems = _read(store, sources, methods, by_id, now)
    for own_row in made:
        rows[own_row.row.instance_id].append(own_row)
    left: list[PartialFailure] = []
    handed_in: list[HandedIn] = []
    findings: list[HackFinding] = []
    for name, instance in by_id.items():
        read_base = partial(mirrors.read_file, instance.repo, instance.base_commit)
        try:
            own = partial_fixes(instance, read_base, created_at=now) if PARTIAL in sources else ()
            proposed = [propose(row, read_base) for row in (*rows[name], *(RepairRow(row=row) for row in own))]
            findings += _hacks(store, instance, [one.repair for one in proposed], read_base)
            handed_in += proposed
        except NotFound as error:
            left.append(PartialFailure.by(name, error))
    store.write(findings)
    _store(store, handed_in)
    usable: dict[InstanceId, dict[FixId, None]] = {}
    for one in handed_in:
        if not one.fix.problem:
            usable.setdefault(one.repair.instance_id, {})[one.fix.fix_id] = None
    return FixesTaken(
        fixes={name: tuple(ids) for name, ids in usable.items()},
        repairs=tuple(one.repair for one in handed_in),
        left=tuple(left),
        problems=(*problems, *(line for one in handed_in for line in _remarks(one))),
    )


def _hacks(
    store: Store, instance: TaskInstance, repairs: Iterable[Repair], read_base: ReadBase
) -> Iterable[HackFinding]:
    """Returns signs of test hacking in repairs that the current version of the detectors has not examined."""
    new = {repair.repair_id: repair for repair in repairs if repair.provenance != "oracle"}
    seen = {row.repair_id for row in store.read(HackFinding, repair_id=set(new), version=VERSION)} if new else set()
    if not new.keys() - seen:
        return
    known = known_of(instance, read_base)
    for name in sorted(new.keys() - seen):
        yield from hack_rows(new[name], known, read_base)


def _store(store: Store, handed_in: Iterable[HandedIn]) -> None:
    """Stores new rows. A repair is written after its fix, so that no stored repair refers to a missing fix."""
    fixes = {one.fix.fix_id: one.fix for one in handed_in}
    known = {row.fix_id for row in store.read(ProposedFix, fix_id=set(fixes))} if fixes else set()
    store.write([fix for name, fix in fixes.items() if name not in known])
    repairs = {_told(one.repair): one.repair for one in handed_in}
    asked = {repair.repair_id for repair in repairs.values()}
    said = {_told(row): row for row in store.read(Repair, repair_id=asked)} if asked else {}
    store.write([row for name, row in repairs.items() if not _is_known(row, said.get(name))])
    labels = {label for one in handed_in for label in one.labels}
    known_labels = set(store.read(HackLabel, repair_id=asked)) if labels else set()
    store.write(sorted(labels - known_labels, key=lambda label: (label.repair_id, label.reviewer)))


def _told(repair: Repair) -> tuple[str, str]:
    """Returns the key under which a later row replaces an earlier one."""
    return repair.snapshot, repair.repair_id


def _is_known(repair: Repair, last: Repair | None) -> bool:
    return last is not None and replace(last, created_at=repair.created_at) == repair


def _remarks(one: HandedIn) -> Iterable[str]:
    where = f"{one.repair.source}: {one.repair.instance_id}"
    if one.repair.stripped:
        yield f"{where}: not run of it: {'; '.join(one.repair.stripped)}"
    if one.fix.problem:
        yield f"{where}: {one.fix.problem}"


def _read(
    store: Store,
    sources: Iterable[str],
    methods: Iterable[str],
    instances: Mapping[InstanceId, TaskInstance],
    now: datetime,
) -> tuple[dict[InstanceId, list[RepairRow]], list[str]]:
    """Returns the rows of all repairs files by instance, and one line per row that could not be read."""
    files = tuple(dict.fromkeys(source for source in sources if source != PARTIAL))
    names = method_names(files, methods)
    rows: dict[InstanceId, list[RepairRow]] = {name: [] for name in instances}
    problems: list[str] = []
    holders: dict[Place, tuple[str, str]] = {}
    for file in files:
        read = read_repairs(Path(file), instances.values(), created_at=now, method=names.get(file))
        problems += [*lines_of(store, file, read.problems, instances.values()), *read.notes]
        _refuse_clashes(holders, file, read)
        for one in read.rows:
            rows[one.row.instance_id].append(one)
    return rows, problems


def _refuse_clashes(holders: dict[Place, tuple[str, str]], file: str, read: Repairs) -> None:
    """Raises `BadInput` if two files have different fixes for one place."""
    for one in read.rows:
        holder, patch = holders.setdefault(place_of(one.row), (file, one.row.patch))
        if holder != file and patch != one.row.patch:
            names = f"{Path(holder).name} and {Path(file).name}"
            raise BadInput(f"{names} hold different fixes of {one.row.method!r} for {one.row.instance_id}", hint=HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRuns(InEnvironment):
    """Suites of one instance to run on fixes proposed for it."""

    suite_ids: tuple[SuiteId, ...]
    fix_ids: tuple[FixId, ...]


def run_on_fixes(places: Places, settings: RunSettings, unit: FixRuns) -> Ran:
    """Runs these suites on these fixes of one instance, except for stored runs."""
    store = Store(places.store)
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    fixes, suites = store.read(ProposedFix, fix_id=unit.fix_ids), store.read(Suite, suite_id=unit.suite_ids)
    pairs = [(fix, suite, fix_spec(bench, suite, fix)) for fix in fixes for suite in suites]
    write_fix_runs(store, pairs)
    return make_runs(places, settings, bench, (spec for *_, spec in pairs))
