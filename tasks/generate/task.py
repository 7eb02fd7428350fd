"""Generate: instances in, candidates out. Stored work is not repeated.

Reads `task_instance`, `environment`, `leak_audit`; writes `candidate`, `generation`, `trajectory_audit`, `redaction`,
`leak_audit`, `leak`.

After a kill, no paid call is lost. Model calls are replayed from the reply cache and command output from a replay log
(`<cache>/journals`), so the work resumes at the interrupted call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from tasks.adapters.agents.hiding import packages_of
from tasks.adapters.llm.base import Model, Options
from tasks.adapters.llm.gateway.recorder import as_trajectory, steps_in
from tasks.adapters.patch.read import to_text
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.maintenance.claims import claims_of
from tasks.adapters.store.tables.store import Store
from tasks.adapters.workbench.journaled import JournaledWorkbench
from tasks.domain.environment import Environment
from tasks.domain.errors import InfrastructureError
from tasks.domain.generation import Generation, Mode
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, ModelName
from tasks.domain.outcome import SandboxKind
from tasks.domain.places import Places
from tasks.domain.run import Limits
from tasks.domain.undone import InEnvironment, PartialFailure
from tasks.domain.variant import PLAIN, Variant
from tasks.generate.estimate import MissingCalls, PaperBench, estimate
from tasks.generate.registry import method_named
from tasks.generate.rows import MethodUnit, candidate_of, failure_of, finished_rows, generation_of
from tasks.methods.briefing import brief
from tasks.methods.method import Assignment, CodePatch, Method, MethodBudget, Proposal
from tasks.methods.notes import Notes, RecordedModel
from tasks.methods.redaction import find_pointers, redaction_rows
from tasks.methods.replay_log import ReplayLog, journal_of
from tasks.methods.resources import InstanceResources
from tasks.methods.trajectory_audit import audit_trajectory, secrets_of

GOLDEN = "golden"
"""Name of the instance's own fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """Settings for running methods."""

    budget: MethodBudget = field(default_factory=MethodBudget)
    sandbox: SandboxKind | None = None
    trusted: bool = False
    """Whether the code under test may run without isolation."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodWork(InEnvironment):
    """One method with one model on one instance, with the flow's additions."""

    method: str
    model: str
    mode: Mode = Mode.UNIT_TEST
    context: tuple[str, ...] = ()
    """Paths of files of the base commit, best first."""
    modified_files: bool = False
    """Whether `context` has the files that a patch changes."""
    test_file: str = ""
    """Path of the test file to change, if the experiment sets it."""
    variant: Variant = PLAIN
    """Parameters of the experiment."""
    fix: str = ""
    """`golden`, or the SHA-256 of a stored file with a wrong fix; empty if the method gets no fix."""

    @property
    def scope(self) -> str:
        files = "modified-files" if self.modified_files else ""
        told = (self.test_file, self.fix, files, self.mode.value)
        return " ".join((self.snapshot, self.variant.label(self.method), self.model, *filter(None, told)))


def options_of(variant: Variant, method: Method) -> Options:
    """Returns the model options of an experiment, without those that the method or its budget reads."""
    asked = asked_options(variant)
    temperature = None if "temperature" in method.parameters else asked.temperature
    return replace(asked, temperature=temperature, max_tokens=asked.max_tokens if method.external else None)


def asked_options(variant: Variant) -> Options:
    """Returns all model options of an experiment."""
    return Options(
        temperature=variant.number("temperature"),
        top_p=variant.number("top_p"),
        seed=variant.count("seed"),
        stop=tuple(filter(None, [variant["stop"]])),
        max_tokens=variant.count("max_tokens"),
        reasoning_tokens=variant.count("reasoning_tokens"),
        reasoning_effort=variant["reasoning_effort"],
        verbosity=variant["verbosity"],
    )


Models = Callable[[MethodWork, InstanceKey], Model]
"""Returns the metered and recorded model for a unit."""
ModelFor = Callable[[InstanceKey], Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """Result of one or more units."""

    proposed: int = 0
    """Candidates with a patch."""
    nothing: int = 0
    """Candidates without a patch."""
    reused: int = 0
    """Samples that were already in the store."""
    left: tuple[PartialFailure, ...] = ()
    """Instances on which provider, budget or machine failed. They have no candidate and can be retried."""
    generation_ids: tuple[str, ...] = ()
    """Ids of the new and the reused rows."""

    def __add__(self, other: Generated) -> Generated:
        return Generated(
            proposed=self.proposed + other.proposed,
            nothing=self.nothing + other.nothing,
            reused=self.reused + other.reused,
            left=self.left + other.left,
            generation_ids=self.generation_ids + other.generation_ids,
        )


def generate(places: Places, settings: GenerationSettings, models: Models, work: MethodWork) -> Generated:
    """Run a method with a model on one instance.

    Raises `LeakFound` if the method could see information from after the base commit, and `NotFound` if the instance
    cannot be read. A failure of provider or budget is a row of `generation` and makes the unit incomplete.
    """
    store = Store(places.store)
    hands, unit = unit_of(store, places, settings, work)
    store.write(redaction_rows(unit.instance, find_pointers(unit.instance, hands.history)))
    if known := finished(store, unit):
        return _reused(known)
    hands.pass_gate(store)
    # Tools show clocks and temporary names, so prompts of two concurrent workers differ and both would pay.
    with claims_of(store, places.cache).claim(f"generation-{unit.generation_ids[0]}", wait=True):
        if known := finished(store, unit):
            return _reused(known)
        return _ask(store, unit, hands, partial(models, work))


def is_left(places: Places, settings: GenerationSettings, work: MethodWork) -> bool:
    """Whether `generate` would run the method, or wait for another worker that runs it."""
    store = Store(places.store)
    return not finished(store, unit_of(store, places, settings, work)[1])


def unit_of(
    store: Store, places: Places, settings: GenerationSettings, work: MethodWork
) -> tuple[InstanceResources, MethodUnit]:
    """Returns the resources for the unit's instance, and the unit."""
    (instance,) = store.read(TaskInstance, snapshot=work.snapshot, instance_id=work.instance_id)
    (environment,) = store.read(Environment, env_id=work.env_id)
    hands = InstanceResources.of(places, settings, instance, environment)
    return hands, MethodUnit(
        instance=instance,
        assignment=_assignment(store, work, hands),
        method=method_named(work.method),
        model=ModelName(work.model),
        budget=settings.budget.changed(work.variant),
    )


def estimate_work(
    places: Places,
    settings: GenerationSettings,
    instance: TaskInstance,
    environment: Environment,
    works: Sequence[MethodWork],
) -> MissingCalls:
    """Estimate the calls of a method on one instance, and list the models that have finished. Starts and writes
    nothing.

    `works` differ only in the model and its files; the estimate uses the files of the first.
    """
    hands, work = InstanceResources.of(places, settings, instance, environment), works[0]
    store, known = Store(places.store), method_named(work.method)
    budget = settings.budget.changed(work.variant)
    units = [
        MethodUnit(
            instance=instance,
            assignment=_assignment(store, one, hands),
            method=known,
            model=ModelName(one.model),
            budget=budget,
        )
        for one in works
    ]
    return MissingCalls(
        estimate=estimate(known, units[0].assignment, PaperBench(hands.paths, hands.read), budget),
        finished=frozenset(unit.model for unit in units if finished(store, unit)),
    )


def finished(store: Store, unit: MethodUnit) -> tuple[Generation, ...]:
    """Returns the finished rows of a unit: all samples, or none."""
    known = finished_rows(store.read(Generation, generation_id=unit.generation_ids))
    return known if {row.sample for row in known} >= set(range(unit.method.samples)) else ()


def _reused(known: tuple[Generation, ...]) -> Generated:
    return Generated(reused=len(known), generation_ids=tuple(row.generation_id for row in known))


def _ask(store: Store, unit: MethodUnit, hands: InstanceResources, model_for: ModelFor) -> Generated:
    """Run the method with its replay log and store the result."""
    journal = journal_of(hands.places, unit.generation_ids[0])
    with journal, spare_folder(hands.places.scratch) as folder:
        done = _noted(store, unit, hands, model_for, Notes(folder), journal)
        if not done.left:
            journal.finish()
        return done


def _noted(
    store: Store, unit: MethodUnit, hands: InstanceResources, model_for: ModelFor, notes: Notes, journal: ReplayLog
) -> Generated:
    """Run the method and write its rows. If it is stopped, writes only a row with the reason."""
    started = datetime.now(UTC)
    try:
        made = _made(unit, hands, model_for, notes, journal)
    except InfrastructureError as error:
        store.write([failure_of(unit, error, started, datetime.now(UTC))])
        return Generated(left=(PartialFailure.by(unit.instance.instance_id, error),))
    finally:
        heard = notes.close()
    noted = store.put_file(heard) if heard else ""
    store.write([candidate_of(unit, one.proposal, one.at) for one in made])
    store.write(audit_made(store, unit, made, noted, hands.paths))
    store.write([generation_of(unit, one.proposal, started, one.at, one.trajectory(noted)) for one in made])
    proposed = sum(bool(one.proposal.patch) for one in made)
    ids = tuple(unit.generation_id(one.proposal.sample) for one in made)
    return Generated(proposed=proposed, nothing=len(made) - proposed, generation_ids=ids)


def _made(
    unit: MethodUnit, hands: InstanceResources, model_for: ModelFor, notes: Notes, journal: ReplayLog
) -> list[Made]:
    """Returns the proposals, each with its time and the number of recorded steps before it."""
    with JournaledWorkbench(replace(hands.supplies(), told=notes.ran), journal) as bench:
        model = RecordedModel(model_for(unit.instance.instance_key), notes)
        proposals = unit.method.run(unit.assignment, bench, model, unit.budget)
        return [Made(proposal=one, at=datetime.now(UTC), steps=notes.steps) for one in proposals]


def _assignment(store: Store, work: MethodWork, hands: InstanceResources) -> Assignment:
    """Returns the method's input, with pointers to the fix removed from the issue."""
    test_file = [work.test_file] if work.test_file else []
    return Assignment(
        task=brief(hands.instance, hands.environment, hands.paths, hands.read, hands.history),
        context=hands.files(work.context),
        mode=work.mode,
        variant=work.variant,
        test_file=next(iter(hands.files(test_file)), None),
        code_patch=_fix(store, work.fix, hands.instance),
        modified_files=work.modified_files,
    )


def _fix(store: Store, fix: str, instance: TaskInstance) -> CodePatch | None:
    if not fix:
        return None
    if fix == GOLDEN:
        return CodePatch(text=instance.patch, correct=True)
    with store.open_file(fix) as file:
        return CodePatch(text=to_text(file.read()), correct=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A proposal with its time."""

    proposal: Proposal
    at: datetime
    steps: int
    """Number of steps in the stage's notes before the proposal."""

    def trajectory(self, notes: str) -> str | None:
        """Returns the trajectory file: the agent's own, else the notes; None if there is neither."""
        return self.proposal.trajectory or notes or None


def audit_made(
    store: Store, unit: MethodUnit, made: Sequence[Made], notes: str, paths: Sequence[str]
) -> list[TrajectoryAudit]:
    """Audit the trajectories of proposals. `notes` is the file of the stage's notes. `paths` are all files of the base
    commit, which give the import names of the project.

    The audit of a proposal covers everything that the method saw and ran before it. So the fifth sample of one
    conversation also covers the other four.
    """
    secrets = secrets_of(unit.instance, packages=packages_of(paths))
    found: list[TrajectoryAudit] = []
    for one in made:
        if sha := one.trajectory(notes):
            with store.open_file(sha) as file:
                steps = steps_in(file.read())
            seen = steps if one.proposal.trajectory else steps[: one.steps]
            found += audit_trajectory(candidate_of(unit, one.proposal, one.at), as_trajectory(seen), secrets)
    return found
