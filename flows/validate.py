"""Validation: decide which instances of a snapshot have golden tests that can be trusted.

    golden and nop ─► leaks? ─► solved? ─► again in another order and seed, a year on ─► disagree? ─► many times more
                                   └─ no ─► twice with a network, twice without ────────────┴─► judgement ◄─┘
                                                                                                 └─► alone? (on demand)

Cheap checks come first. If golden tests do not solve an instance, they are not repeated; if an instance leaks, no more
tests run. Stored runs are not repeated. Validation runs no robustness check; `swt evaluate golden` adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from flows.engine.units import FlowRun, typed_partial
from flows.evaluate import EvaluationSummary, evaluate_inside, run_settings
from flows.interface.requests import EvaluationRequest, ValidationRequest
from flows.interface.settings import Settings
from tasks.adapters.store.views.database import ensure_views
from tasks.adapters.text import counted
from tasks.domain.errors import BuildFailed
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.domain.undone import Undone
from tasks.domain.validation import Validation
from tasks.evaluate.runs.validation_plan import Repeats
from tasks.evaluate.task import Purpose, Ran, SuiteRuns, run_suites
from tasks.repair.golden_isolation import GoldenAlone, golden_alone
from tasks.repair.settings import RepairSettings
from tasks.validate.task import (
    LeakLook,
    ToJudge,
    audit_instance,
    golden_misses,
    golden_suites,
    judge_instances,
    needs_settling,
    retired_since,
)
from tasks.validate.verdict import UNMEASURED, GoldenMiss

STORY = "validate"

FAKETIME = (
    Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"),
    Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"),
    Path("/usr/lib/faketime/libfaketime.so.1"),
)
"""Paths at which Linux distributions install libfaketime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSummary:
    """Result of a validation."""

    validations: tuple[Validation, ...]
    evaluation: EvaluationSummary
    undone: tuple[Undone, ...]
    """Includes the evaluation's. An instance with an incomplete unit cannot be valid."""
    executed: int
    """Test runs made, including those of the evaluation."""
    exit_code: int

    @property
    def valid(self) -> tuple[InstanceId, ...]:
        return tuple(row.instance_id for row in self.validations if row.valid)

    @property
    def text(self) -> str:
        """One line for each instance, and a line of counts."""
        rows = [f"{row.instance_id}  {row.reason or 'valid'}  {_counts(row)}  {row.detail}" for row in self.validations]
        facts = f"{len(self.valid)} of {len(rows)} valid; {counted(self.executed, 'run')}; {len(self.undone)} undone"
        return "\n".join([*rows, facts])


def validate_inside(
    outer: FlowRun, request: ValidationRequest, settings: Settings, repeats: Repeats
) -> ValidationSummary:
    """Validate as a subflow, which does not update the views."""
    return outer.run_subflow(
        STORY, request.title, asdict(request), lambda run: validate(request, settings, run, repeats)
    )


def validate(
    request: ValidationRequest, settings: Settings, run: FlowRun, repeats: Repeats | None = None
) -> ValidationSummary:
    """The flow. `repeats`: how often and under which conditions golden tests run again."""
    places, snapshot = settings.places, request.snapshot
    controls = ("golden", "nop")
    # Robustness checks do not change whether an instance is valid, and add up to eight runs. Repeats run untraced.
    asked = EvaluationRequest(
        candidates=controls, snapshot=snapshot, instances=request.instances, guards=False, confirm=False
    )
    evaluation = evaluate_inside(run, asked, settings, golden=False)
    ensure_views(settings.store, settings.database, settings.sql)
    misses = golden_misses(settings.database, snapshot)
    wanted = [InstanceId(name) for name in request.instances] or list(misses)
    ready = evaluation.environments
    looks = [LeakLook(snapshot=snapshot, instance_id=name, env_id=env) for name, env in ready.items()]
    leaks = run.map_task("leaks", typed_partial(audit_instance, places), looks).by_subject
    clean = {name: env for name, env in ready.items() if leaks.get(name) == ""}
    repeats = repeats or Repeats()
    if request.health and not repeats.epoch:
        repeats = replace(repeats, epoch=int(f"{datetime.now(UTC):%Y%m}"))
    how = replace(run_settings(settings), repeats=replace(repeats, faketime=repeats.faketime or _faketime()))
    rounds = _Rounds(run, typed_partial(run_suites, places, how), snapshot, golden_suites(places, snapshot, clean))
    solved = {name: env for name, env in clean.items() if misses.get(name, UNMEASURED) is None}
    retired = retired_since(places, snapshot, solved) if request.health else {}
    if request.health:
        rounds.make("health", _but(solved, retired), Purpose.HEALTH)
        rounds.make("second looks", _only(solved, retired), Purpose.SECOND)
    rounds.make("validation", _but(solved, retired), Purpose.VALIDATE)
    open_questions = needs_settling(places, snapshot, _but(solved, retired))
    rounds.make("settling", _only(solved, open_questions), Purpose.SETTLE)
    rounds.make("doubts", {name: env for name, env in clean.items() if misses.get(name)}, Purpose.DOUBT)
    undone = run.incomplete()
    judge = partial(
        _to_judge,
        environments=ready,
        misses=misses,
        leaks=leaks,
        troubles=_troubles(undone),
        broken={row.subject: row.detail for row in undone if row.error == BuildFailed.slug},
        retired=retired,
    )
    judged = judge_instances(places, snapshot, tuple(map(judge, wanted)))
    alone = (
        _alone(request, settings, run, solved) if request.alone else 0
    )  # does not change whether an instance is valid
    return ValidationSummary(
        validations=judged,
        evaluation=evaluation,
        undone=run.incomplete(),
        executed=evaluation.ran.executed + rounds.executed + alone,
        exit_code=run.exit_code(nothing=not ready),
    )


def _alone(request: ValidationRequest, settings: Settings, run: FlowRun, solved: Mapping[InstanceId, EnvId]) -> int:
    """Run golden tests in isolation. Returns the number of runs."""
    how = RepairSettings(sandbox=settings.sandbox, trusted=settings.trusted, limits=settings.limits)
    units = [GoldenAlone(snapshot=request.snapshot, instance_id=name, env_id=env) for name, env in solved.items()]
    return sum(run.map_task("alone", typed_partial(golden_alone, settings.places, how), units).results)


@dataclass(slots=True)
class _Rounds:
    """Runs golden suites, one purpose at a time."""

    run: FlowRun
    function: Callable[[SuiteRuns], Ran]
    snapshot: str
    suites: Mapping[InstanceId, SuiteId]
    """Golden suites of the instances that have one, in the order in which they run."""
    executed: int = 0

    def make(self, label: str, wanted: Mapping[InstanceId, EnvId], purpose: Purpose) -> None:
        units = [
            SuiteRuns(
                snapshot=self.snapshot, instance_id=name, env_id=wanted[name], suite_ids=(suite,), purpose=purpose
            )
            for name, suite in self.suites.items()
            if name in wanted
        ]
        self.executed += sum(ran.executed for ran in self.run.map_task(label, self.function, units).results)


def _only(wanted: Mapping[InstanceId, EnvId], some: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    return {name: wanted[name] for name in some}


def _but(wanted: Mapping[InstanceId, EnvId], others: Collection[InstanceId]) -> dict[InstanceId, EnvId]:
    return {name: env for name, env in wanted.items() if name not in others}


def _troubles(undone: Iterable[Undone]) -> dict[str, str]:
    """Returns instance → failure that says nothing about the instance. Leaves out `BuildFailed`: an environment that
    cannot be built is a property of the instance."""
    return {row.subject: f"{row.round}: {row.detail}" for row in undone if row.error != BuildFailed.slug}


def _to_judge(
    name: InstanceId,
    *,
    environments: Mapping[InstanceId, EnvId],
    misses: Mapping[InstanceId, GoldenMiss | None],
    leaks: Mapping[str, str],
    troubles: Mapping[str, str],
    broken: Mapping[str, str],
    retired: Mapping[InstanceId, datetime],
) -> ToJudge:
    return ToJudge(
        instance_id=name,
        env_id=environments.get(name),
        golden=misses.get(name, UNMEASURED),
        trouble=troubles.get(name, ""),
        leak=leaks.get(name, ""),
        broken=broken.get(name, ""),
        since=retired.get(name),
    )


def _counts(row: Validation) -> str:
    return f"F2P {row.fail_to_pass}, P2P {row.pass_to_pass}, quarantined {row.quarantined}, runs {row.runs}"


def _faketime() -> str:
    return next((str(path) for path in FAKETIME if path.exists()), "")
