"""Turns the runs of a snapshot's golden tests into judgements. Runs no tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.leaks.look import look_for_leaks
from tasks.adapters.patch.apply import apply_stored
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query, selection
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.domain.candidate import Suite
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, InstanceId, InstanceKey, SnapshotName, SuiteId
from tasks.domain.outcome import SuiteKind
from tasks.domain.places import Places
from tasks.domain.undone import InEnvironment
from tasks.domain.validation import CaseStability, InvalidReason, MonthTurn, Stability, Validation
from tasks.validate.judge import case_rows
from tasks.validate.observations import ToObserve, ValidationRuns, golden_suites_of, look, slowest_first
from tasks.validate.schedule import Record, records, to_look_at, turn
from tasks.validate.verdict import Evidence, GoldenMiss, Judgement, finding, quarantined

NAMED = 5
"""Maximum number of files in a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToJudge:
    """One instance, with the results of other stages."""

    instance_id: InstanceId
    env_id: EnvId | None
    """None if no environment could be built."""
    golden: GoldenMiss | None = None
    """Why the golden tests are not solved; None if they are."""
    trouble: str = ""
    """The internal failure that prevented its runs; empty if there is none."""
    leak: str = ""
    """Later versions of the code found in its checkout or environment; empty if there are none."""
    broken: str = ""
    """Why no environment could be built: the first error of the last plan; empty if there is one."""
    since: datetime | None = None
    """Only runs that started later count, for a retired instance; None counts all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakLook(InEnvironment):
    """One leak check of the checkout and the environment of an instance."""


def audit_instance(places: Places, unit: LeakLook) -> str:
    """Returns the leaks of future code in the instance's checkout or environment; empty if there are none.

    Each call checks again, because a clean checkout or environment may change. Raises `InfrastructureError` if a retry
    may help, `NotFound` if the mirror or its commit is missing.
    """
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=unit.snapshot, instance_id=unit.instance_id)
    (environment,) = store.read(Environment, env_id=unit.env_id)
    built = installed(places.cache, environment, machine_interpreters(places.cache), instance.base_commit)
    return look_for_leaks(places, instance, built).complaint


def golden_misses(database: Path, snapshot: str) -> dict[InstanceId, GoldenMiss | None]:
    """Returns why the golden tests of each instance are not solved; None for instances whose golden tests are."""
    asked = selection("golden_obstacle", {"snapshot": [snapshot]}, ["instance_id"])
    answer = query(database, asked).drop_columns(["snapshot"])
    return {
        InstanceId(row.pop("instance_id")): GoldenMiss(**row) if row["reason"] else None for row in answer.to_pylist()
    }


def judge_instances(places: Places, snapshot: str, asked: tuple[ToJudge, ...]) -> tuple[Validation, ...]:
    """Judges every instance by its stored runs, and stores the result."""
    store = Store(places.store)
    instances = {row.instance_id: row for row in store.read(TaskInstance, snapshot=snapshot)}
    suites = golden_suites_of(store, (instances[one.instance_id] for one in asked))
    by_id = {one.instance_id: one for one in asked}
    to_observe = [_to_observe(instances[one.instance_id], one, suites) for one in asked]
    judged = {
        one.instance.instance_id: _judge(one, by_id[one.instance.instance_id], runs)
        for one, runs in look(store, filter(None, to_observe))
    }
    store.write([row for _, rows in judged.values() for row in rows])
    validations = tuple(
        judged[one.instance_id][0]
        if one.instance_id in judged
        else _unseen(places, instance := instances[one.instance_id], one, suites.get(instance.instance_key))
        for one in asked
    )
    store.write(validations)
    return validations


def _to_observe(instance: TaskInstance, asked: ToJudge, suites: Mapping[InstanceKey, Suite]) -> ToObserve | None:
    """Returns the runs to read; None if the instance was not run, or its runs do not count."""
    suite = suites.get(instance.instance_key)
    if asked.env_id is None or suite is None or not suite.files or asked.leak or asked.trouble:
        return None
    return ToObserve(instance=instance, suite=suite, env_id=asked.env_id, since=asked.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The instances selected for a month that are not finished."""

    new: tuple[InstanceId, ...]
    """To validate, in this order: instances without a result, and those whose last attempt failed for other causes and
    whose pause is over."""
    old: tuple[InstanceId, ...]
    """To re-check: a share of the valid instances, and retired ones."""


def choose(
    places: Places, month: str, pool: str, passed: Collection[InstanceId], *, limit: int | None, looks: float
) -> Chosen:
    """Selects instances with `schedule.turn` and `schedule.to_look_at`, and stores the selection before any validation.

    `passed` are the instances of the pool that currently pass the filter. `limit` is per repository; `looks` is a
    share. An earlier selection for the month is reused, so a killed process gets neither more places nor other
    re-checks.
    """
    store, now = Store(places.store), datetime.now(UTC)
    before, known = store.read(MonthTurn, snapshot=month), _records(places, pool)
    new = turn([one for one in known if one.instance.instance_id in passed], now, limit, before)
    old = to_look_at(known, looks, now, before)
    had = {one.instance_key for one in before}
    store.write(
        [
            MonthTurn(
                snapshot=SnapshotName(month),
                instance_key=one.instance_key,
                instance_id=one.instance_id,
                look=look,
                chosen_at=now,
            )
            for look, instances in ((False, new), (True, old))
            for one in instances
            if one.instance_key not in had
        ]
    )
    return Chosen(new=tuple(one.instance_id for one in new), old=tuple(one.instance_id for one in old))


def valid_now(places: Places, pool: str) -> int:
    """Returns the number of instances of a pool that are valid by their last judgement."""
    return sum(1 for record in _records(places, pool) if record.last and record.last.valid)


def retired_since(places: Places, snapshot: str, wanted: Collection[InstanceId]) -> dict[InstanceId, datetime]:
    """Returns the retired ones of these instances, with the time of their last negative check. Only later runs can
    reinstate them."""
    known = (record for record in _records(places, snapshot) if record.instance.instance_id in wanted)
    return {record.instance.instance_id: record.retired_at for record in known if record.retired_at}


def _records(places: Places, snapshot: str) -> tuple[Record, ...]:
    store = Store(places.store)
    instances = sorted(store.read(TaskInstance, snapshot=snapshot), key=lambda row: row.instance_id)
    return records(instances, store.read(Validation, snapshot=snapshot))


def golden_suites(places: Places, snapshot: str, wanted: Collection[InstanceId]) -> dict[InstanceId, SuiteId]:
    """Returns the golden suites of these instances, the slowest first. Omits instances without a golden suite."""
    store = Store(places.store)
    instances = store.read(TaskInstance, snapshot=snapshot, instance_id=tuple(wanted)) if wanted else ()
    suites = golden_suites_of(store, instances)
    in_turn = slowest_first(store, (row for row in instances if row.instance_key in suites))
    return {row.instance_id: suites[row.instance_key].suite_id for row in in_turn}


def needs_settling(places: Places, snapshot: str, wanted: Mapping[InstanceId, EnvId]) -> tuple[InstanceId, ...]:
    """Returns the instances with a golden case whose runs disagree so far."""
    store = Store(places.store)
    instances = store.read(TaskInstance, snapshot=snapshot, instance_id=tuple(wanted)) if wanted else ()
    suites = golden_suites_of(store, instances)
    to_observe = [
        ToObserve(instance=row, suite=suites[row.instance_key], env_id=wanted[row.instance_id])
        for row in instances
        if row.instance_key in suites
    ]
    return tuple(one.instance.instance_id for one, seen in look(store, to_observe) if _disagrees(one, seen))


def _disagrees(one: ToObserve, seen: ValidationRuns) -> bool:
    return bool(quarantined(_rows(one, seen, SuiteKind.GOLDEN)))


def _judge(one: ToObserve, asked: ToJudge, seen: ValidationRuns) -> tuple[Validation, tuple[CaseStability, ...]]:
    golden = _rows(one, seen, SuiteKind.GOLDEN)
    if not seen.has_both(SuiteKind.GOLDEN):
        trouble = next(iter(seen.infrastructure), "runs of the golden tests are missing")
        said = Judgement(InvalidReason.INFRASTRUCTURE, trouble)
        return _validation(one.instance, asked, said, (), None), ()
    evidence = Evidence(
        runs=seen.observed[SuiteKind.GOLDEN],
        cases=golden,
        golden=asked.golden,
        infrastructure=seen.infrastructure,
    )
    rows = golden + _rows(one, seen, SuiteKind.NONE)
    return _validation(one.instance, asked, finding(evidence), golden, seen), rows


def _rows(one: ToObserve, seen: ValidationRuns, kind: SuiteKind) -> tuple[CaseStability, ...]:
    """Returns the stability of the cases of one suite; none if a code state has no run."""
    if not seen.has_both(kind):
        return ()
    return case_rows(one.instance.instance_key, one.env_id, seen.cases[kind], seen.observed[kind])


def _unseen(places: Places, instance: TaskInstance, asked: ToJudge, suite: Suite | None) -> Validation:
    """Returns the validation of an instance without runs."""
    if asked.trouble:
        said = Judgement(InvalidReason.INFRASTRUCTURE, asked.trouble)
    elif asked.leak:
        said = Judgement(InvalidReason.LEAK, asked.leak)
    elif suite is None:
        said = Judgement(InvalidReason.GOLDEN_FAILS, "the golden tests do not apply")
    elif asked.env_id is None:
        said = Judgement(InvalidReason.INSTALL_ERROR, asked.broken or "see environment_attempt")
    # If the golden patch does not apply, the environment check did not search for cases that read the changed files.
    elif refused := _golden_patch_refused(places, instance):
        said = Judgement(InvalidReason.GOLDEN_FAILS, f"the golden patch does not apply: {refused.detail}")
    else:
        changed = ", ".join(_changed(suite.patch)) or "nothing"
        said = Judgement(InvalidReason.NO_TESTS, f"no case of the suite reads what the golden tests change: {changed}")
    return _validation(instance, asked, said, (), None)


def _golden_patch_refused(places: Places, instance: TaskInstance) -> Refused | None:
    read_base = partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit)
    applied = apply_stored(instance.patch, read_base)
    return applied if isinstance(applied, Refused) else None


def _changed(patch: str) -> list[str]:
    """Returns the first files that a patch in normal form changes."""
    read = read_patch(patch)
    return [] if isinstance(read, Refused) else [file.path for file in read.files][:NAMED]


def _validation(
    instance: TaskInstance,
    asked: ToJudge,
    said: Judgement,
    golden: tuple[CaseStability, ...],
    seen: ValidationRuns | None,
) -> Validation:
    kinds = [row.stability for row in golden]
    return Validation(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        snapshot=instance.snapshot,
        env_id=asked.env_id,
        valid=said.valid,
        reason=said.reason,
        detail=said.detail,
        fail_to_pass=kinds.count(Stability.FAIL_TO_PASS),
        pass_to_pass=kinds.count(Stability.PASS_TO_PASS),
        quarantined=len(quarantined(golden)),
        runs=seen.runs if seen else 0,
        cpu_s=seen.cpu_s if seen else 0.0,
        validated_at=datetime.now(UTC),
    )
