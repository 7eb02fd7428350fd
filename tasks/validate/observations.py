"""Reads the stored runs of an instance's golden suite, and of suite `none` on its files, as `Observed`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, EnvId, InstanceKey, RunKey
from tasks.domain.outcome import OTHER_CODE, CodeState, RunStatus, RunVariant, SuiteKind
from tasks.domain.pairing import place_name, renamed
from tasks.domain.run import CaseOutcome, Run, current
from tasks.validate.judge import Observed, SeenCase

AT_ONCE = 200_000
"""Approximate maximum number of outcomes in memory; the last instance may exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRuns:
    """All data about one instance in one environment that validation uses."""

    observed: Mapping[SuiteKind, Sequence[Observed]]
    cases: Mapping[SuiteKind, Sequence[SeenCase]]
    """Cases of all runs, ordered by id."""
    infrastructure: tuple[str, ...]
    runs: int
    cpu_s: float

    def has_both(self, kind: SuiteKind) -> bool:
        """Whether each code state has a run of this suite."""
        return {run.code_state for run in self.observed[kind]} == set(CodeState)


def golden_suites_of(store: Store, instances: Iterable[TaskInstance]) -> Mapping[InstanceKey, Suite]:
    """Returns each instance's golden suite with the most files, like the grader. Omits instances without one."""
    keys = tuple(instance.instance_key for instance in instances)
    suites = store.read(Suite, instance_key=keys, kind=SuiteKind.GOLDEN) if keys else ()
    return {suite.instance_key: suite for suite in sorted(suites, key=_size)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToObserve:
    """An instance whose runs are to be read."""

    instance: TaskInstance
    suite: Suite
    env_id: EnvId
    since: datetime | None = None
    """Only runs that started later count; None counts all."""


_Counting = tuple[ToObserve, tuple[Run, ...]]
"""An instance, and its runs that count."""


def look(store: Store, wanted: Iterable[ToObserve]) -> Iterator[tuple[ToObserve, ValidationRuns]]:
    """Yields each instance with its runs and their outcomes.

    Reads all runs with one query, and outcomes in batches of about `AT_ONCE`. One query per instance took 12 CPU
    seconds in a store of 3,000 runs.
    """
    asked = tuple(wanted)
    runs = runs_of(store, (one.instance for one in asked))
    counting = [(one, _runs(runs[one.instance.instance_key], one)) for one in asked]
    for batch in _batches(counting):
        keys = tuple(run.run_key for _, found in batch for run in _fine(found))
        by_run: dict[RunKey, list[CaseOutcome]] = defaultdict(list)
        for row in store.read(CaseOutcome, run_key=keys) if keys else ():
            by_run[row.run_key].append(row)
        for one, found in batch:
            yield one, _seen(found, by_run)


def runs_of(store: Store, instances: Iterable[TaskInstance]) -> Mapping[InstanceKey, tuple[Run, ...]]:
    """Returns the runs that each instance requested, without superseded ones; none for an instance without runs."""
    keys = tuple({instance.instance_key for instance in instances})
    found: dict[InstanceKey, list[Run]] = {key: [] for key in keys}
    for run in store.requested_runs(keys):
        found[run.instance_key].append(run)
    return {key: current(runs) for key, runs in found.items()}


def _runs(known: Iterable[Run], one: ToObserve) -> tuple[Run, ...]:
    later = (run for run in known if one.since is None or run.started_at > one.since)
    return tuple(run for run in later if run.env_id == one.env_id and _counts(run, one.suite))


def _fine(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.status is not RunStatus.INFRASTRUCTURE]


def _batches(counting: Iterable[_Counting]) -> Iterator[list[_Counting]]:
    """Yields batches in order, each with about `AT_ONCE` outcomes."""
    batch: list[_Counting] = []
    rows = 0
    for one in counting:
        batch.append(one)
        rows += sum(run.cases for run in _fine(one[1]))
        if rows >= AT_ONCE:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _seen(runs: Sequence[Run], by_run: Mapping[RunKey, Sequence[CaseOutcome]]) -> ValidationRuns:
    fine = _fine(runs)
    kinds = {kind: _named(fine, kind, by_run) for kind in (SuiteKind.GOLDEN, SuiteKind.NONE)}
    return ValidationRuns(
        observed={kind: [_observed(one.run, one.rows) for one in named] for kind, named in kinds.items()},
        cases={kind: _cases(row for one in named for row in one.rows) for kind, named in kinds.items()},
        infrastructure=tuple(run.detail for run in runs if run.status is RunStatus.INFRASTRUCTURE),
        runs=len(fine),
        cpu_s=sum(run.cpu_s or 0.0 for run in fine),
    )


def slowest_first(store: Store, instances: Iterable[TaskInstance]) -> tuple[TaskInstance, ...]:
    """Sorts instances by their longest run of a golden suite, in descending order.

    Repeats take as long as that run. All other workers would wait for a slow instance that starts last.
    """
    known = tuple(instances)
    golden = {
        key: [run for run in runs if run.suite_kind is SuiteKind.GOLDEN and run.variant not in OTHER_CODE]
        for key, runs in runs_of(store, known).items()
    }
    took = {key: max((run.wall_s for run in runs), default=0.0) for key, runs in golden.items()}
    return tuple(sorted(known, key=lambda one: (-took[one.instance_key], one.instance_id)))


def _size(suite: Suite) -> tuple[int, int, str]:
    return len(suite.files), len(suite.patch), suite.suite_id


def _counts(run: Run, suite: Suite) -> bool:
    golden = run.suite_kind is SuiteKind.GOLDEN
    ours = run.files_key == (suite.files_key if golden else suite.base_files_key)
    return (
        ours
        and (run.suite_id == suite.suite_id or not golden)
        and run.suite_kind is not SuiteKind.CANDIDATE
        and run.variant not in OTHER_CODE
    )


@dataclass(frozen=True, slots=True)
class _NamedRun:
    """A run, with case ids that all runs of its suite share."""

    run: Run
    rows: Sequence[CaseOutcome]


def _named(
    runs: Iterable[Run], kind: SuiteKind, by_run: Mapping[RunKey, Sequence[CaseOutcome]]
) -> tuple[_NamedRun, ...]:
    """Returns the runs of one suite, starting with plain ones on `before`.

    A case whose id differs between processes gets its id of the first run and a label made from its place.
    """
    asked = sorted((run for run in runs if run.suite_kind is kind), key=_plain_first)
    cases = [by_run.get(run.run_key, ()) for run in asked]
    names = renamed(cases)
    loose = {name for one in names for name in one.values()}

    def row_of(row: CaseOutcome, own: Mapping[CaseId, CaseId]) -> CaseOutcome:
        name = own.get(row.case_id, row.case_id)
        return replace(row, case_id=name, label=place_name(row)) if name in loose else row

    return tuple(
        _NamedRun(run, [row_of(row, own) for row in rows]) for run, rows, own in zip(asked, cases, names, strict=True)
    )


def _plain_first(run: Run) -> tuple[bool, bool]:
    return run.variant is not RunVariant.PLAIN, run.code_state is not CodeState.BEFORE


def _observed(run: Run, rows: Iterable[CaseOutcome]) -> Observed:
    return Observed(
        suite_kind=run.suite_kind,
        code_state=run.code_state,
        variant=run.variant,
        status=run.status,
        outcomes={row.case_id: row.outcome for row in rows},
    )


def _cases(rows: Iterable[CaseOutcome]) -> tuple[SeenCase, ...]:
    named: dict[CaseId, SeenCase] = {}
    for row in rows:
        named.setdefault(row.case_id, SeenCase(case_id=row.case_id, path=row.path, label=row.label))
    return tuple(named[case] for case in sorted(named))
