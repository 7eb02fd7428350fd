"""Repair instances: a method gets failing tests and writes a fix, which the flow judges like any proposed fix.

instances ─► environments ─► TDFlow or an agent, a model, tests ─► repairs ─► golden tests on each (judge_repairs.py)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from flows.engine.units import NOTHING, FlowRun, typed_partial
from flows.environments import prepare
from flows.evaluate import run_settings
from flows.interface.requests import FixesRequest, RepairRequest
from flows.interface.settings import Settings
from flows.judge_repairs import FixesSummary, judge_fixes
from flows.sweep import open_router
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import metered
from tasks.domain.candidate import Candidate
from tasks.domain.llm import Work
from tasks.domain.names import CandidateId, InstanceId, InstanceKey
from tasks.domain.repair import RepairAttempt, SubAgent
from tasks.evaluate.intake.stored_candidates import PREFIX
from tasks.evaluate.repairs.fix_runs import take_fixes
from tasks.evaluate.repairs.repairs_file import RepairRow, Told
from tasks.evaluate.task import check_sandbox, choose_instances
from tasks.repair.agents import repairing
from tasks.repair.settings import GOLDEN, METHOD, RepairSettings, TdflowLimits
from tasks.repair.task import RepairWork
from tasks.repair.task import repair as repair_one


def repair(request: RepairRequest, settings: Settings, run: FlowRun) -> FixesSummary:
    """The flow."""
    places, snapshot = settings.places, request.snapshot
    if request.method != METHOD:
        repairing(request.method)
    instances = choose_instances(places, snapshot, request.instances)
    check_sandbox(places, run_settings(settings))
    attempts = _attempts(request, settings, run, [row.instance_id for row in instances])
    taken = take_fixes(places, (), instances, made=map(_handed_in, attempts))
    names = tuple(sorted(row.instance_id for row in attempts))
    ends = Counter(row.end.value for row in attempts)
    facts = (
        f"{len(attempts)} attempts: {', '.join(f'{number} {end}' for end, number in sorted(ends.items())) or 'none'}"
    )
    if not attempts:
        return FixesSummary(text=facts, remarks=(), undone=run.incomplete(), exit_code=NOTHING)
    given = sorted({row.tests for row in attempts} - {GOLDEN})
    tests = tuple(f"{PREFIX}{name}" for name in given)  # their quality decides much of the result
    judging = FixesRequest(fixes=(request.method,), snapshot=snapshot, instances=names, tests=tests)
    judged = judge_fixes(judging, settings, run, taken)
    return replace(judged, text=f"{facts}\n{judged.text}", exit_code=run.exit_code())


def _attempts(
    request: RepairRequest, settings: Settings, run: FlowRun, names: list[InstanceId]
) -> tuple[RepairAttempt, ...]:
    """Returns one attempt for each instance that has an environment and finished work."""
    budget = Budget(calls=request.budget_calls, usd=request.budget_usd)
    router = open_router(settings, (request.model, *dict.fromkeys(dict(request.roles).values())), budget)
    router.recover()  # first: calls that a killed process may have paid for count against this budget
    try:
        built = prepare(run, settings, request.snapshot, names)
        units = [
            RepairWork(
                snapshot=request.snapshot,
                instance_id=name,
                env_id=env_id,
                model=request.model,
                tests=request.tests,
                roles=request.roles,
                method=request.method,
            )
            for name, env_id in built.items()
        ]
        how = RepairSettings(
            tdflow=TdflowLimits(iterations=request.iterations),
            sandbox=settings.sandbox,
            trusted=settings.trusted,
            limits=settings.limits,
        )
        with metered(run.store, settings.cache, request.payer, budget) as meter:
            function = typed_partial(repair_one, settings.places, how, partial(_model, request, how, router, meter))
            return run.map_task("repairs", function, units).results
    finally:
        router.close()


def _model(
    request: RepairRequest,
    how: RepairSettings,
    router: ModelRouter,
    meter: Meter,
    unit: RepairWork,
    key: InstanceKey,
    agent: SubAgent,
    step: str,
) -> Model:
    """Returns the model of one sub-agent."""
    work = Work(
        method=how.method(unit.tests, unit.roles, unit.method),
        snapshot=unit.snapshot,
        instance_id=unit.instance_id,
        instance_key=key,
        step=step,
        sweep=request.payer,
    )
    return router.model(unit.model_of(agent), work, meters=(meter,))


def _handed_in(attempt: RepairAttempt) -> RepairRow:
    """Returns the attempt as a row of a repairs file. An attempt without a patch has an empty patch, which counts as
    not resolved."""
    identity = (attempt.instance_key, attempt.method, attempt.model, 0, attempt.patch)
    row = Candidate(
        candidate_id=CandidateId(Candidate.id_of(*identity)),
        snapshot=attempt.snapshot,
        instance_id=attempt.instance_id,
        instance_key=attempt.instance_key,
        method=attempt.method,
        model=attempt.model,
        sample=0,
        patch=attempt.patch,
        provenance="verified",
        source=attempt.attempt_id,
        problem="",
        created_at=attempt.finished_at,
    )
    total = None if attempt.cost_usd is None or attempt.tests_usd is None else attempt.cost_usd + attempt.tests_usd
    told = Told(tests=attempt.tests, iteration=attempt.iteration, cost_usd=total, tests_usd=attempt.tests_usd)
    return RepairRow(row=row, told=told)
