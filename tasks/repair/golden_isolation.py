"""Do the golden tests of an instance end alone as they do together? Of validation, on demand.

A repair finds that out test by test (`isolated_case.py`). Here it is known before any repair of an instance starts. The
TDFlow paper left out 22 of 300 and 45 of 500 instances for it (its appendices B and C).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.patch.render import Change
from tasks.adapters.store.tables.store import Store
from tasks.adapters.workbench.base import Workbench
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId
from tasks.domain.outcome import CodeState
from tasks.domain.pairing import paired
from tasks.domain.places import Places
from tasks.domain.undone import InEnvironment
from tasks.domain.validation import GoldenCaseAlone
from tasks.methods.resources import InstanceResources
from tasks.repair.isolated_case import IsolatedResult, IsolationSearch, how_it_ended
from tasks.repair.settings import GOLDEN, RepairSettings
from tasks.repair.suite import CaseSeen, SuiteRun, TargetTests, changes_of, put


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenAlone(InEnvironment):
    """One instance in one environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAlone:
    """One case on one code state."""

    state: CodeState
    case: CaseSeen
    """Among the others."""
    lone: IsolatedResult


def golden_alone(places: Places, settings: RepairSettings, unit: GoldenAlone) -> int:
    """Writes the rows of an instance that has none in this environment; the runs that it took.

    One run of all golden tests on each code state and of each case, of the first eighteen: no more are debugged.
    `NotFound` where the instance cannot be read, `BadInput` for tests that cannot be placed.
    """
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=unit.snapshot, instance_id=unit.instance_id)
    (environment,) = store.read(Environment, env_id=unit.env_id)
    if store.read(GoldenCaseAlone, instance_key=instance.instance_key, env_id=unit.env_id):
        return 0
    hands = InstanceResources.of(places, settings, instance, environment)
    tests = TargetTests.of_patch(GOLDEN, instance.test_patch, hands.read, instance.FAIL_TO_PASS)
    with LocalWorkbench(hands.supplies()) as bench:
        fix = changes_of("the fix", instance.patch, bench.base)
        seen = tuple(look_alone(bench, tests, fix, settings.tdflow.debugged))
    store.write([_row(instance, unit, one) for one in seen])
    return len(CodeState) + sum(one.lone.runs for one in seen)


def look_alone(bench: Workbench, tests: TargetTests, fix: Sequence[Change], most: int) -> Iterator[SeenAlone]:
    """Each of the first `most` cases that the fix turns to passing, on both code states. The bench stays as it is."""
    states = {CodeState.BEFORE: (*tests.changes,), CodeState.AFTER: (*fix, *tests.changes)}
    runs = {state: _run(bench, changes, tests) for state, changes in states.items()}
    earlier, later = (runs[state].cases for state in (CodeState.BEFORE, CodeState.AFTER))
    same, before = paired(earlier, later), {case.case_id: case for case in earlier if case.collected}
    turned = [
        case
        for case in later
        if case.passed and _failed(case, before.get(same.get(case.case_id) or case.case_id), tests)
    ]
    for state, changes in states.items():
        cases = runs[state].cases
        for place, case in enumerate(cases):
            if case.collected and case.case_id in {one.case_id for one in turned[:most]}:
                with bench.fork() as own:
                    put(own, changes)
                    lone = IsolationSearch(bench=own, files=tests.files, case=case, earlier=cases[:place]).find_out()
                yield SeenAlone(state=state, case=case, lone=lone)


def _run(bench: Workbench, changes: Sequence[Change], tests: TargetTests) -> SuiteRun:
    with bench.fork() as own:
        put(own, changes)
        return SuiteRun.of(own.run_tests(tests.files))


def _failed(case: CaseSeen, before: CaseSeen | None, tests: TargetTests) -> bool:
    """Whether a case failed before or was not there; where a list says which do, only those count."""
    if tests.fail_to_pass is not None and tests.fail_to_pass.isdisjoint(case.known_as):
        return False
    return before is None or before.fails


def _row(instance: TaskInstance, unit: GoldenAlone, seen: SeenAlone) -> GoldenCaseAlone:
    return GoldenCaseAlone(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        env_id=unit.env_id,
        case_id=CaseId(seen.case.case_id),
        code_state=seen.state,
        reason=seen.lone.reason,
        among=how_it_ended(seen.case),
        alone=seen.lone.ended,
        earlier=tuple(map(CaseId, seen.lone.earlier)),
        runs=seen.lone.runs,
        created_at=datetime.now(UTC),
    )
