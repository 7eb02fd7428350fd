"""Validate: the runs of a snapshot's golden tests become judgements. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.adapters.store.warehouse import Store
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.domain.outcome import CodeState, SuiteKind
from tasks.domain.places import Places
from tasks.domain.validation import CaseStability, Reason, Stability, Validation
from tasks.validate.judge import case_rows
from tasks.validate.observe import Seen, golden_suite, look
from tasks.validate.verdict import Evidence, Finding, finding, quarantined

_FAILS_AFTER = (Stability.FAIL_TO_FAIL, Stability.PASS_TO_FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToJudge:
    """One instance, and what other stages know of it."""

    instance_id: InstanceId
    env_id: EnvId | None
    """Null where no environment could be built."""
    golden_reason: str
    """Why the grader `paper` does not call the golden tests solved; empty where it does."""
    trouble: str = ""
    """A failure of ours that kept it from being run; empty otherwise."""
    leak: str = ""
    """What of the future its checkout or environment holds; empty otherwise."""


@task(cache_policy=NO_CACHE)
def judge_instances(places: Places, snapshot: str, asked: tuple[ToJudge, ...]) -> tuple[Validation, ...]:
    """Judge every instance by the runs that the store has, and store what came of it."""
    store = Store(places.store)
    instances = {row.instance_id: row for row in store.read(TaskInstance, snapshot=snapshot)}
    judged = [_judge(store, instances[one.instance_id], one) for one in asked]
    store.write([row for _, rows in judged for row in rows])
    store.write([validation for validation, _ in judged])
    return tuple(validation for validation, _ in judged)


def needs_settling(places: Places, snapshot: str, wanted: Mapping[InstanceId, EnvId]) -> dict[InstanceId, SuiteId]:
    """The instances whose runs disagree so far, with their golden suites."""
    return _wanting(places, snapshot, wanted, lambda rows: bool(quarantined(rows)))


def needs_network(places: Places, snapshot: str, wanted: Mapping[InstanceId, EnvId]) -> dict[InstanceId, SuiteId]:
    """The instances with a case that fails on the fixed code, with their golden suites."""
    return _wanting(places, snapshot, wanted, lambda rows: any(row.stability in _FAILS_AFTER for row in rows))


def _wanting(
    places: Places,
    snapshot: str,
    wanted: Mapping[InstanceId, EnvId],
    needs: Callable[[tuple[CaseStability, ...]], bool],
) -> dict[InstanceId, SuiteId]:
    store = Store(places.store)
    found: dict[InstanceId, SuiteId] = {}
    for instance in store.read(TaskInstance, snapshot=snapshot, instance_id=tuple(wanted)):
        suite = golden_suite(store, instance)
        if suite is None:
            continue
        env_id = wanted[instance.instance_id]
        if needs(_rows(instance, env_id, look(store, instance, suite, env_id), SuiteKind.GOLDEN)):
            found[instance.instance_id] = suite.suite_id
    return found


def _judge(store: Store, instance: TaskInstance, asked: ToJudge) -> tuple[Validation, tuple[CaseStability, ...]]:
    suite = golden_suite(store, instance)
    if asked.env_id is None or suite is None or asked.leak or asked.trouble:
        return _unseen(instance, asked, has_suite=suite is not None), ()
    seen = look(store, instance, suite, asked.env_id)
    golden = _rows(instance, asked.env_id, seen, SuiteKind.GOLDEN)
    evidence = Evidence(
        runs=seen.observed[SuiteKind.GOLDEN],
        cases=golden,
        golden_reason=asked.golden_reason,
        infrastructure=seen.infrastructure,
    )
    rows = golden + _rows(instance, asked.env_id, seen, SuiteKind.NONE)
    return _validation(instance, asked, finding(evidence), golden, seen), rows


def _rows(instance: TaskInstance, env_id: EnvId, seen: Seen, kind: SuiteKind) -> tuple[CaseStability, ...]:
    """Stability of the cases of one suite; none where a code state has no run."""
    runs = seen.observed[kind]
    if {run.code_state for run in runs} != set(CodeState):
        return ()
    return case_rows(instance.instance_key, env_id, seen.cases[kind], runs)


def _unseen(instance: TaskInstance, asked: ToJudge, *, has_suite: bool) -> Validation:
    """An instance that was not run."""
    if asked.trouble:
        said = Finding(Reason.INFRASTRUCTURE, asked.trouble)
    elif asked.leak:
        said = Finding(Reason.LEAK, asked.leak)
    elif not has_suite:
        said = Finding(Reason.GOLDEN_FAILS, "the golden tests do not apply, or hold no test file")
    else:
        said = Finding(Reason.INSTALL_ERROR, "see environment_attempt")
    return _validation(instance, asked, said, (), None)


def _validation(
    instance: TaskInstance, asked: ToJudge, said: Finding, golden: tuple[CaseStability, ...], seen: Seen | None
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
