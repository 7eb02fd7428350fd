"""The rows of a snapshot, and its difference to the one before. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, SnapshotName
from tasks.domain.outcome import SuiteKind
from tasks.domain.published import ChangeKind, SnapshotChange
from tasks.domain.validation import CaseStability, Stability, Validation

Lists = Mapping[InstanceKey, Sequence[CaseStability]]


def latest(validations: Iterable[Validation]) -> dict[InstanceKey, Validation]:
    """The last word on each instance; failures of ours say nothing about it."""
    last: dict[InstanceKey, Validation] = {}
    for row in sorted(validations, key=lambda row: row.validated_at):
        if row.valid or row.reason != "infrastructure" or row.instance_key not in last:
            last[row.instance_key] = row
    return last


def golden_cases(rows: Iterable[CaseStability], validations: Mapping[InstanceKey, Validation]) -> Lists:
    """The cases of the golden suites, in the environment that each instance was last validated in."""
    found: dict[InstanceKey, list[CaseStability]] = defaultdict(list)
    for row in rows:
        judged = validations.get(row.instance_key)
        if judged and row.suite_kind is SuiteKind.GOLDEN and row.env_id == judged.env_id:
            found[row.instance_key].append(row)
    return found


def published(
    pool: Iterable[TaskInstance], validations: Mapping[InstanceKey, Validation], cases: Lists, snapshot: str
) -> tuple[TaskInstance, ...]:
    """The valid instances of `pool` under the snapshot's name, with the lists that validation found, sorted by id."""
    rows = [
        replace(
            instance,
            snapshot=SnapshotName(snapshot),
            FAIL_TO_PASS=_named(cases.get(instance.instance_key, ()), Stability.FAIL_TO_PASS),
            PASS_TO_PASS=_named(cases.get(instance.instance_key, ()), Stability.PASS_TO_PASS),
        )
        for instance in pool
        if (judged := validations.get(instance.instance_key)) and judged.valid
    ]
    return tuple(sorted(rows, key=lambda row: row.instance_id))


def changes(
    before: Iterable[TaskInstance],
    after: Iterable[TaskInstance],
    validations: Mapping[InstanceKey, Validation],
    *,
    snapshot: str,
    previous: str,
    withdrawn: Mapping[str, str] = MappingProxyType({}),
) -> tuple[SnapshotChange, ...]:
    """What differs, sorted by instance. `withdrawn`: why each instance that was withdrawn is not to be used."""
    old, new = ({row.instance_id: row for row in rows} for rows in (before, after))
    found = [
        SnapshotChange(
            snapshot=SnapshotName(snapshot),
            previous=SnapshotName(previous),
            instance_id=name,
            instance_key=(new.get(name) or old[name]).instance_key,
            change=change,
            reason=reason,
            detail=detail,
        )
        for name in sorted(old.keys() | new.keys())
        for change, reason, detail in _difference(old.get(name), new.get(name), validations, withdrawn)
    ]
    return tuple(found)


def _difference(
    old: TaskInstance | None,
    new: TaskInstance | None,
    validations: Mapping[InstanceKey, Validation],
    withdrawn: Mapping[str, str],
) -> list[tuple[ChangeKind, str, str]]:
    if old is None:
        return [(ChangeKind.ADDED, "", "")]
    if new is None:
        if old.instance_id in withdrawn:
            return [(ChangeKind.RETIRED, "withdrawn", withdrawn[old.instance_id])]
        judged = validations.get(old.instance_key)
        if judged and not judged.valid:
            return [(ChangeKind.RETIRED, judged.reason, judged.detail)]
        return [(ChangeKind.RETIRED, "not_collected", "the collected rows do not hold it any more")]
    named = [
        what
        for what, one, other in (
            ("base, patch or tests", old.instance_key, new.instance_key),
            ("statement", old.problem_statement, new.problem_statement),
            ("FAIL_TO_PASS", old.FAIL_TO_PASS, new.FAIL_TO_PASS),
            ("PASS_TO_PASS", old.PASS_TO_PASS, new.PASS_TO_PASS),
        )
        if one != other
    ]
    return [(ChangeKind.REPAIRED, ", ".join(named), "")] if named else []


def _named(cases: Iterable[CaseStability], stability: Stability) -> tuple[str, ...]:
    """Names as the repository's own runner prints them, sorted, once each."""
    return tuple(sorted({case.label or case.case_id for case in cases if case.stability is stability}))
