"""The stored runs of an instance's golden suite, and of suite `none` on its files, as `Observed`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, EnvId, InstanceKey, RunKey
from tasks.domain.outcome import CodeState, RunStatus, RunVariant, SuiteKind
from tasks.domain.run import CaseOutcome, Run, current
from tasks.validate.judge import Observed, SeenCase

EDITED = (RunVariant.PLACEBO, RunVariant.PARAPHRASE)
"""Runs on other code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRuns:
    """Everything that validation looks at for one instance in one environment."""

    observed: Mapping[SuiteKind, Sequence[Observed]]
    cases: Mapping[SuiteKind, Sequence[SeenCase]]
    """Cases of all runs, in the order of their ids."""
    infrastructure: tuple[str, ...]
    runs: int
    cpu_s: float

    def has_both(self, kind: SuiteKind) -> bool:
        """Whether each code state has a run of this suite."""
        return {run.code_state for run in self.observed[kind]} == set(CodeState)


def golden_suites_of(store: Store, instances: Iterable[TaskInstance]) -> Mapping[InstanceKey, Suite]:
    """Of each instance the golden suite with most files, as the grader takes it; those without one are left out."""
    keys = tuple(instance.instance_key for instance in instances)
    suites = store.read(Suite, instance_key=keys, kind=SuiteKind.GOLDEN) if keys else ()
    return {suite.instance_key: suite for suite in sorted(suites, key=_size)}


def look(
    store: Store, instance: TaskInstance, suite: Suite, env_id: EnvId, *, since: datetime | None = None
) -> ValidationRuns:
    """Read the runs and their outcomes; with `since` only those that began later."""
    known = current(store.read(Run, instance_key=instance.instance_key))
    runs = [run for run in known if run.env_id == env_id and _counts(run, suite)]
    runs = [run for run in runs if since is None or run.started_at > since]
    fine = [run for run in runs if run.status is not RunStatus.INFRASTRUCTURE]
    rows = store.read(CaseOutcome, run_key=tuple(run.run_key for run in fine)) if fine else ()
    by_run: dict[RunKey, list[CaseOutcome]] = defaultdict(list)
    for row in rows:
        by_run[row.run_key].append(row)
    kinds = (SuiteKind.GOLDEN, SuiteKind.NONE)
    return ValidationRuns(
        observed={
            kind: [_observed(run, by_run[run.run_key]) for run in fine if run.suite_kind is kind] for kind in kinds
        },
        cases={
            kind: _cases(run_rows for run in fine if run.suite_kind is kind for run_rows in by_run[run.run_key])
            for kind in kinds
        },
        infrastructure=tuple(run.detail for run in runs if run.status is RunStatus.INFRASTRUCTURE),
        runs=len(fine),
        cpu_s=sum(run.cpu_s or 0.0 for run in fine),
    )


def slowest_first(store: Store, instances: Iterable[TaskInstance]) -> tuple[TaskInstance, ...]:
    """By the longest run of a golden suite, which its repeats will take as well: a slow instance that is begun last has
    all other workers wait for it."""
    known = tuple(instances)
    took: dict[InstanceKey, float] = defaultdict(float)
    for run in current(store.read(Run, instance_key=tuple(one.instance_key for one in known))) if known else ():
        if run.suite_kind is SuiteKind.GOLDEN:
            took[run.instance_key] = max(took[run.instance_key], run.wall_s)
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
        and run.variant not in EDITED
    )


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
