"""Evaluate predictions and print verdicts, as the public harness does.

    candidates ─► submissions, suites ─► environments ─► runs ─► robustness checks of would-be successes ─► verdicts

Every step reads and writes rows of the store and skips finished work. The same request a second time starts no test
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows.engine.units import FlowRun, line_of, log, typed_partial
from flows.environments import EnvironmentOnDemand, find, prepare
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.store.files.quarantine import Problem
from tasks.adapters.tabular import text_table
from tasks.adapters.text import counted
from tasks.changed_lines.task import record_changed_lines
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.names import EnvId, FixId, InstanceId, SuiteId
from tasks.domain.outcome import Policy, Tracer
from tasks.domain.places import Places
from tasks.domain.run import Run, RunRequest
from tasks.domain.undone import Undone
from tasks.evaluate.intake.controls import GOLDEN
from tasks.evaluate.intake.load import LoadedCandidates, take_candidates
from tasks.evaluate.runs.data_driven import drive_golden_suites
from tasks.evaluate.runs.decoy_runs import TRIES, decoy_states, decoy_units, try_decoys
from tasks.evaluate.runs.golden_failures import GoldenCheck, check_golden
from tasks.evaluate.runs.status import NOT_RUN, EvaluationStatus, standing
from tasks.evaluate.task import (
    Purpose,
    Ran,
    RunSettings,
    SuiteRuns,
    check_sandbox,
    choose_instances,
    lacks_runs,
    run_suites,
)

STORY = "evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSummary:
    """The printed table and the values that decide the exit code."""

    facts: str
    """One line with counts of the work done."""
    rows: Sequence[Mapping[str, Any]]
    """Rows of `table2` for the requested instances and patch filter. Includes other methods with measurements on these
    instances."""
    text: str
    """The rows as a table, the denominator, and the counts."""
    remarks: tuple[str, ...]
    """One line each: rejected rows of candidate files, and torn files of the store."""
    undone: tuple[Undone, ...]
    ran: Ran
    environments: Mapping[InstanceId, EnvId]
    """Instances without an environment are missing."""
    suites: Mapping[InstanceId, tuple[SuiteId, ...]]
    """The suites run on each instance; the golden tests come first if they ran."""
    exit_code: int
    """0 done, 1 done with failures left, 3 nothing could run."""

    @property
    def problems(self) -> tuple[str, ...]:
        """All remarks and incomplete units, one line each."""
        return (*self.remarks, *map(line_of, self.undone))


def run_settings(settings: Settings, *, coverage: bool = True) -> RunSettings:
    """Returns the settings for running suites."""
    return RunSettings(
        sandbox=settings.sandbox,
        trusted=settings.trusted,
        limits=settings.limits,
        tracer=Tracer.PROBE if coverage else Tracer.NONE,
    )


def evaluate_inside(
    outer: FlowRun, request: EvaluationRequest, settings: Settings, *, prepared: bool = True, golden: bool = True
) -> EvaluationSummary:
    """Evaluate as a subflow. It does not update the views: an update in each subflow took a seventh of a demo's
    time."""
    body = partial(evaluate, request, settings, prepared=prepared, golden=golden)
    return outer.run_subflow(STORY, request.title, asdict(request), body)


def evaluate(
    request: EvaluationRequest, settings: Settings, run: FlowRun, *, prepared: bool = False, golden: bool = True
) -> EvaluationSummary:
    """The flow.

    `prepared`: every environment is already on this machine. `golden`: record an unmeasured golden suite as a failure
    of this flow; a validation turns this off, because it judges golden suites itself.
    """
    places, how = settings.places, run_settings(settings, coverage=request.coverage)
    torn = run.store.quarantine()
    instances = choose_instances(places, request.snapshot, request.instances)
    record_changed_lines(places, instances)
    taken = take_candidates(places, request.candidates, instances, request.policy, request.coverage, request.method)
    check_sandbox(places, how)
    run.record_failures("candidates", request.snapshot, taken.left)
    mine = {name: part_of(suites, request) for name, suites in taken.suites.items()}
    wanted = {name: suites for name, suites in mine.items() if suites and taken.candidates}
    ready = (prepare if prepared else find)(run, settings, request.snapshot, wanted)
    drive_golden_suites(places, ready)
    stands = partial(standing, places, settings.sql, request.snapshot, request.instances, request.policy)
    make = EnvironmentOnDemand(settings, typed_partial(lacks_runs, places, how), typed_partial(run_suites, places, how))
    suites = _Suites(run, make, stands, request.snapshot, ready, wanted)
    suites.run_all("runs", Purpose.JUDGE)
    found = suites.standing()
    if request.guards and found.to_guard:
        solved = {name: env for name, env in ready.items() if found.to_guard & set(wanted[name])}
        suites.decoys = ready_decoys(run, places, how, settings.sql, request.snapshot, solved)
        if suites.run_some("guards", Purpose.GUARD, found.to_guard):
            found = suites.standing()
    unsure = found.to_confirm - suites.undone  # robustness checks of incomplete suites did not all run
    if request.confirm and request.coverage and suites.run_some("confirmations", Purpose.CONFIRM, unsure):
        found = suites.standing()
    if wanted and golden:
        unit = GoldenCheck(snapshot=request.snapshot, subjects=tuple(wanted))
        run.map_task("golden", typed_partial(check_golden, _golden_unmeasured(run, request, found, taken)), [unit])
    return _summary(run, request, taken, torn, suites, found, len(instances))


def ready_decoys(
    run: FlowRun, places: Places, how: RunSettings, sql: Path, snapshot: str, environments: Mapping[InstanceId, EnvId]
) -> dict[InstanceId, tuple[FixId, ...]]:
    """Returns the selected decoys of these instances. If an instance has too few, the flow first tries more with its
    golden tests."""
    states = decoy_states(places, sql, snapshot, environments)
    for tries in TRIES:
        units = decoy_units(states, snapshot, environments, tries)
        if sum(run.map_task("decoys", typed_partial(try_decoys, places, how), units).results, Ran()).executed:
            states = decoy_states(places, sql, snapshot, environments)
    return {name: state.chosen for name, state in states.items()}


def _golden_unmeasured(
    run: FlowRun, request: EvaluationRequest, found: EvaluationStatus, taken: LoadedCandidates
) -> Mapping[InstanceId, str]:
    """Returns instance → reason for golden tests without a measurement. Leaves out failures that this flow run already
    recorded, unless no later run can measure them."""
    if not _asks_for_golden(request, taken):
        return found.unmeasured
    recorded = {row.subject for row in run.incomplete(own=True)}
    missing = {
        row["instance_id"]: f"{row['reason']}: {row['detail']}"
        for row in found.misses.to_pylist()
        if not row["measured"] and row["instance_id"] not in recorded
    }
    return {**missing, **found.unmeasured}


def _asks_for_golden(request: EvaluationRequest, taken: LoadedCandidates) -> bool:
    """Whether this flow run measures golden tests as a candidate. With `part`, another part of the request may have
    them."""
    return any(method == GOLDEN for method, _ in taken.methods) and not request.part


def part_of(suites: tuple[SuiteId, ...], request: EvaluationRequest) -> tuple[SuiteId, ...]:
    """Returns the suites of an instance that belong to this part of the request; all of them if it has no part."""
    if not request.part:
        return suites
    which, parts = request.share
    kept = set(sorted(suites)[which - 1 :: parts])
    return tuple(suite for suite in suites if suite in kept)


@dataclass(slots=True)
class _Suites:
    """Runs suites on the instances that have an environment, one purpose at a time."""

    run: FlowRun
    function: Callable[[SuiteRuns], Ran]
    stands: Callable[[], EvaluationStatus]
    snapshot: str
    environments: Mapping[InstanceId, EnvId]
    suites: Mapping[InstanceId, tuple[SuiteId, ...]]
    total: Ran = field(default_factory=Ran)
    undone: set[SuiteId] = field(default_factory=set)
    """Suites of instances for which a task left something incomplete."""
    known: str = ""
    """Version of the store's run tables at the last status query."""
    decoys: Mapping[InstanceId, tuple[FixId, ...]] = field(default_factory=dict)
    """The selected decoys of instances with would-be successes."""

    def run_all(self, label: str, purpose: Purpose) -> None:
        self._run(label, purpose, {name: self.suites[name] for name in self.environments})

    def standing(self) -> EvaluationStatus:
        """Query the current status. Takes the store's version before the query, because other machines write during the
        query."""
        self.known = self._known()
        return self.stands()

    def run_some(self, label: str, purpose: Purpose, wanted: frozenset[SuiteId]) -> bool:
        """Run these suites. Returns whether the store has changed since the last status query."""
        chosen = {name: tuple(sorted(wanted & set(self.suites[name]))) for name in self.environments}
        self._run(label, purpose, {name: suites for name, suites in chosen.items() if suites})
        return self._known() != self.known

    def _known(self) -> str:
        return self.run.store.version((Run, RunRequest, GuardEdit))

    def _run(self, label: str, purpose: Purpose, suites: Mapping[InstanceId, tuple[SuiteId, ...]]) -> None:
        units = [
            SuiteRuns(
                snapshot=self.snapshot,
                instance_id=name,
                env_id=self.environments[name],
                suite_ids=own,
                purpose=purpose,
                decoys=self.decoys.get(name, ()) if purpose is Purpose.GUARD else (),
            )
            for name, own in suites.items()
        ]
        done = self.run.map_task(label, self.function, units)
        self.total = sum(done.results, self.total)
        whole = {unit.instance_id for unit, ran in done if not ran.left}
        self.undone.update(suite for name, own in suites.items() if name not in whole for suite in own)


def _denominator(request: EvaluationRequest, instances: int) -> str:
    """Returns a sentence that states what `n` counts."""
    if not request.instances:
        return f"n counts all {counted(instances, 'instance')} of {request.snapshot}"
    whole = "table2" if request.policy is Policy.TESTS_ONLY else f"\"FROM table2_by('paper', '{request.policy}')\""
    return (
        f"n counts the {counted(instances, 'instance')} asked for; `swt query {whole}` counts all of {request.snapshot}"
    )


def _shown(found: EvaluationStatus, taken: LoadedCandidates) -> pa.Table:
    """Remove methods that were not requested and have no measurement here. A row with n 0 looks as if their runs had
    failed."""
    rows = found.table.select(["method", "model", "n"]).to_pylist()
    kept = [(row["method"], row["model"]) in taken.methods or row["n"] > 0 for row in rows]
    return found.table.filter(pa.array(kept, pa.bool_()))


def _misses(request: EvaluationRequest, found: EvaluationStatus, taken: LoadedCandidates) -> list[str]:
    """Returns one line for each requested instance whose golden tests do not solve it. They come last, where users read
    them.

    Skips golden tests that never ran if the request did not ask for them, or if another part has them.
    """
    asked = _asks_for_golden(request, taken)
    return [
        f"golden not solved: {row['instance_id']}: {row['reason']}: {row['detail']}"
        + (f" (swt log {row['run']})" if row["run"] else "")
        for row in found.misses.to_pylist()
        if row["instance_id"] in taken.suites and (asked or row["reason"] != NOT_RUN)
    ]


def _summary(
    run: FlowRun,
    request: EvaluationRequest,
    taken: LoadedCandidates,
    torn: Iterable[Problem],
    suites: _Suites,
    found: EvaluationStatus,
    instances: int,
) -> EvaluationSummary:
    nobody = () if taken.candidates else (f"no candidate to judge in {', '.join(request.candidates)}: nothing was run",)
    remarks = (*map(str, torn), *taken.problems, *taken.notes, *nobody)
    for line in remarks:
        log.warning("%s", line)
    undone = run.incomplete()
    facts = (
        f"{counted(taken.candidates, 'candidate')}, {taken.malformed} not well-formed; "
        f"{suites.total}; {len(undone)} undone"
    )
    table = _shown(found, taken)
    return EvaluationSummary(
        facts=facts,
        rows=table.to_pylist(),
        text="\n".join((text_table(table), _denominator(request, instances), facts, *_misses(request, found, taken))),
        remarks=remarks,
        undone=undone,
        ran=suites.total,
        environments=suites.environments,
        suites=suites.suites,
        exit_code=run.exit_code(nothing=bool(suites.suites and not suites.environments) or not taken.candidates),
    )
