"""Judge fixes by golden tests, and measure which fixes other tests accept. The flow `strength` measures how many wrong
fixes solved candidates reject.

    repairs ─► proposed fixes ─► golden tests on each: resolved? ─┐
    candidates ─► evaluated as usual ─► run on each fix ──────────┴─► kept? ─► robustness checks ─► precision, recall
    solved candidates (`strength`) ─► run on each fix ─► wrong ones rejected?

Stored runs are not repeated. Neither flow changes the verdict of a candidate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from flows.engine.units import NOTHING, FlowRun, line_of, log, typed_partial
from flows.environments import prepare
from flows.evaluate import EvaluationSummary, evaluate_inside, ready_decoys, run_settings
from flows.interface.requests import EvaluationRequest, FixesRequest, StrengthRequest
from flows.interface.settings import Settings
from flows.sweep import open_router
from tasks.adapters.files import writable_file
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import metered
from tasks.adapters.store.views.database import ensure_views
from tasks.adapters.tabular import text_table
from tasks.domain.errors import NotFound
from tasks.domain.llm import Work
from tasks.domain.names import EnvId, InstanceId, InstanceKey, RepairId, SuiteId
from tasks.domain.places import Places
from tasks.domain.undone import PartialFailure, Undone
from tasks.evaluate.intake.controls import GOLDEN
from tasks.evaluate.intake.load import check_sources
from tasks.evaluate.repairs.fix_report import FixesJudged, fixes_judged, suites_to_guard
from tasks.evaluate.repairs.fix_runs import FixesTaken, FixRuns, run_on_fixes, take_fixes
from tasks.evaluate.repairs.rejection import judged_suites, strength_of
from tasks.evaluate.task import Purpose, Ran, RunSettings, SuiteRuns, check_sandbox, choose_instances, run_suites
from tasks.integrity.hacking.reading import HackReadings, read_repairs

STORY, STRENGTH = "fixes", "strength"
READER = "hack-reader"
"""Method name under which calls of the model that reads fixes are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesSummary:
    """Result of `fixes` or `strength`."""

    text: str
    """The tables of resolved rates, agreement with reported results and the filter; or the rows of `strength`. A line
    of counts follows."""
    remarks: tuple[str, ...]
    """One line each: unreadable rows, fixes that cannot run, and fixes that change tests."""
    undone: tuple[Undone, ...]
    exit_code: int
    """0 done, 1 done with failures left, 3 nothing could run."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All remarks and incomplete units, one line each."""
        return (*self.remarks, *map(line_of, self.undone))


def fixes(request: FixesRequest, settings: Settings, run: FlowRun) -> FixesSummary:
    """The flow `fixes`."""
    places = settings.places
    if request.kept:
        writable_file(request.kept)
    instances = choose_instances(places, request.snapshot, request.instances)
    check_sources(places, request.tests, instances, request.tests_method)  # first: reading the repairs takes a minute
    return judge_fixes(request, settings, run, take_fixes(places, request.fixes, instances, request.method))


def judge_fixes(request: FixesRequest, settings: Settings, run: FlowRun, taken: FixesTaken) -> FixesSummary:
    """Run golden tests and filtering tests on loaded fixes."""
    places, snapshot, how = settings.places, request.snapshot, run_settings(settings)
    check_sandbox(places, how)
    for line in taken.problems:
        log.warning("%s", line)
    run.record_failures("fixes taken", snapshot, taken.left)
    if request.judge:
        _read(run, request, settings, taken)
    judged = _judge_tests(run, request, settings, taken)
    environments = judged.environments if judged else {}
    total = _try(run, places, how, snapshot, taken, environments, judged.suites if judged else {})
    if judged and request.guards and request.tests:
        keeping = suites_to_guard(places, settings.sql, snapshot)
        total += _guard(run, places, how, settings.sql, judged, snapshot, keeping)
    ensure_views(settings.store, settings.database, settings.sql)
    found = fixes_judged(places, settings.sql, snapshot, taken)
    if request.kept:
        _write(request.kept, found.kept)
    undone = run.incomplete()
    facts = f"{taken.facts}: {found.statuses}; {total}; {len(undone)} undone"
    return FixesSummary(
        text="\n".join((*_tables(found), *_denominator(request), facts)),
        remarks=(*taken.problems, *(judged.remarks if judged else ())),
        undone=undone,
        exit_code=run.exit_code() if environments else NOTHING,
    )


def _read(run: FlowRun, request: FixesRequest, settings: Settings, taken: FixesTaken) -> None:
    """Let a model read the fixes that it has not read yet."""
    budget = Budget(calls=request.budget_calls, usd=request.budget_usd)
    router = open_router(settings, (request.judge,), budget)
    by_instance: dict[InstanceId, list[RepairId]] = {}
    for repair in taken.repairs:
        by_instance.setdefault(repair.instance_id, []).append(repair.repair_id)
    units = [
        HackReadings(snapshot=request.snapshot, instance_id=name, model=request.judge, repair_ids=tuple(ids))
        for name, ids in by_instance.items()
    ]
    try:
        with metered(run.store, settings.cache, f"reading-{request.snapshot}", budget) as meter:
            run.map_task(
                "readings", typed_partial(read_repairs, settings.places, partial(_reader, router, meter)), units
            )
    finally:
        router.close()


def _reader(router: ModelRouter, meter: Meter, unit: HackReadings, key: InstanceKey) -> Model:
    work = Work(
        method=READER,
        snapshot=unit.snapshot,
        instance_id=unit.instance_id,
        instance_key=key,
        sweep=meter.name,
    )
    return router.model(unit.model, work, meters=(meter,))


def _judge_tests(
    run: FlowRun, request: FixesRequest, settings: Settings, taken: FixesTaken
) -> EvaluationSummary | None:
    """Evaluate golden and filtering tests on the code before and after the golden patch. None if no fix can run."""
    if not taken.fixes:
        return None
    tests = EvaluationRequest(
        candidates=tuple(dict.fromkeys((GOLDEN, *request.tests))),
        snapshot=request.snapshot,
        instances=tuple(sorted(taken.fixes)),
        method=request.tests_method,
        coverage=False,
        confirm=False,
        guards=False,
    )
    return evaluate_inside(run, tests, settings)


def _try(
    run: FlowRun,
    places: Places,
    how: RunSettings,
    snapshot: str,
    taken: FixesTaken,
    environments: Mapping[InstanceId, EnvId],
    suites: Mapping[InstanceId, tuple[SuiteId, ...]],
) -> Ran:
    """Run the suites of each instance on its fixes."""
    units = [
        FixRuns(snapshot=snapshot, instance_id=name, env_id=env, suite_ids=suites[name], fix_ids=taken.fixes[name])
        for name, env in environments.items()
    ]
    return sum(run.map_task("fixes", typed_partial(run_on_fixes, places, how), units).results, Ran())


def _guard(
    run: FlowRun,
    places: Places,
    how: RunSettings,
    sql: Path,
    judged: EvaluationSummary,
    snapshot: str,
    wanted: frozenset[SuiteId],
) -> Ran:
    """Run robustness checks of suites that keep a fix, also of those that do not solve the instance. A filter cannot
    know which suites solve it."""
    chosen = {name: tuple(sorted(wanted & set(judged.suites[name]))) for name in judged.environments}
    environments = {name: env for name, env in judged.environments.items() if chosen[name]}
    decoys = ready_decoys(run, places, how, sql, snapshot, environments)
    units = [
        SuiteRuns(
            snapshot=snapshot,
            instance_id=name,
            env_id=judged.environments[name],
            suite_ids=suites,
            purpose=Purpose.GUARD,
            decoys=decoys.get(name, ()),
        )
        for name, suites in chosen.items()
        if suites
    ]
    return sum(run.map_task("guards", typed_partial(run_suites, places, how), units).results, Ran())


def _denominator(request: FixesRequest) -> Iterator[str]:
    if request.instances:
        yield f"n counts every instance of {request.snapshot}, those that were not asked for as well"


def _tables(found: FixesJudged) -> list[str]:
    tables = (found.rates, found.agreement, found.filter)
    return [text_table(table) for table in tables if table.num_rows]


def _write(path: Path, kept: pa.Table) -> None:
    """Write JSON lines in the format that `swt fixes` and readers of predictions files accept."""
    path.write_text("".join(json.dumps(row, ensure_ascii=True) + "\n" for row in kept.to_pylist()), encoding="utf-8")


def strength(request: StrengthRequest, settings: Settings, run: FlowRun) -> FixesSummary:
    """The flow `strength`. The store must already have verdicts (`swt evaluate`)."""
    places, snapshot = settings.places, request.snapshot
    how = run_settings(settings)
    taken = take_fixes(places, request.fixes, choose_instances(places, snapshot, request.instances))
    check_sandbox(places, how)
    for line in taken.problems:
        log.warning("%s", line)
    run.record_failures("fixes taken", snapshot, taken.left)
    built = prepare(run, settings, snapshot, sorted(taken.fixes))
    suites = judged_suites(places, settings.sql, snapshot)
    unjudged = NotFound("nothing was judged on it yet, see `swt evaluate`")
    run.record_failures(
        "suites", snapshot, [PartialFailure.by(name, unjudged) for name in sorted(built.keys() - suites.keys())]
    )
    ready = {name: env for name, env in built.items() if name in suites}
    golden = [
        SuiteRuns(snapshot=snapshot, instance_id=name, env_id=env, suite_ids=suites[name][:1])
        for name, env in ready.items()
    ]
    references = run.map_task("references", typed_partial(run_suites, places, how), golden).results
    total = sum(references, _try(run, places, how, snapshot, taken, ready, suites))
    ensure_views(settings.store, settings.database, settings.sql)
    found = strength_of(places, settings.sql, snapshot, taken)
    undone = run.incomplete()
    facts = f"{taken.facts}: {found.statuses}; {total}; {len(undone)} undone"
    return FixesSummary(
        text=f"{text_table(found.table)}\n{facts}",
        remarks=taken.problems,
        undone=undone,
        exit_code=run.exit_code(nothing=not ready),
    )
