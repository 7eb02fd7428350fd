"""Evaluate: candidates become suites, suites become runs. Reads and writes rows; decides nothing itself.

Reads `task_instance`, `environment`, `suite`; writes `candidate`, `submission`, `suite`, `edited_definition`,
`guard_edit`, and the four tables of a run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from tasks.adapters.extensions.products import needs_extensions
from tasks.adapters.extensions.sources import build_patches
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.rows.raw import LineProblem
from tasks.adapters.runner.job import runner_version
from tasks.adapters.sandbox.pick import swept
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.warehouse import Store
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.candidate import Candidate, Suite
from tasks.domain.environment import Environment
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.guard_edit import GuardEdit, GuardPlan
from tasks.domain.instance import ChangedLine, TaskInstance
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.domain.outcome import Policy, RunStatus, RunVariant, SandboxKind, Tracer
from tasks.domain.places import Places
from tasks.domain.run import Limits, Run, RunSpec
from tasks.domain.undone import Left, OfInstance
from tasks.evaluate.controls import GOLDEN, NOP, golden_candidate, nop_candidate
from tasks.evaluate.execute import Workshop, execute
from tasks.evaluate.guard_edits import guard_edits
from tasks.evaluate.identity import RESERVED, merged, method_names, refuse_reserved, resubmitted
from tasks.evaluate.intake import Intake, take_in
from tasks.evaluate.plan import (
    Bench,
    confirmation_specs,
    distinct,
    guard_specs,
    in_secret_order,
    suite_specs,
    traced,
    watches,
)
from tasks.evaluate.predictions import NO_SUCH_INSTANCE, Predictions, read_predictions
from tasks.evaluate.stored import is_stored, stored_candidates
from tasks.evaluate.validation_plan import Repeats, doubt_specs, health_specs, settling_specs, validation_specs


class Purpose(StrEnum):
    """What suites are run for."""

    JUDGE = "judge"
    """The runs that verdicts need."""
    GUARD = "guard"
    """What a would-be success has to show again."""
    CONFIRM = "confirm"
    """The same without tracing."""
    VALIDATE = "validate"
    """Golden tests again, under other conditions."""
    SETTLE = "settle"
    """Golden tests that disagree with themselves, many times more."""
    HEALTH = "health"
    """Golden tests once more, a month later."""
    DOUBT = "doubt"
    """Golden tests that are not solved, with a network and twice more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How suites are run."""

    sandbox: SandboxKind | None = None
    trusted: bool = False
    """Whether the code may run where nothing isolates it."""
    limits: Limits = field(default_factory=Limits)
    tracer: Tracer = Tracer.PROBE
    repeats: Repeats = field(default_factory=Repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a request's candidates came to, instance by instance."""

    suites: Mapping[InstanceId, tuple[SuiteId, ...]]
    """Suites to run."""
    candidates: int
    malformed: int
    left: tuple[Left, ...]
    """Instances whose mirror or base commit is missing."""
    problems: tuple[str, ...]
    """One line each: rows of predictions files that could not be taken, golden tests that do not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one unit of runs did."""

    executed: int = 0
    reused: int = 0
    left: tuple[Left, ...] = ()
    """Of the executed ones, those that failed for reasons of ours."""

    def __add__(self, other: Ran) -> Ran:
        return Ran(
            executed=self.executed + other.executed,
            reused=self.reused + other.reused,
            left=self.left + other.left,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRuns(OfInstance):
    """Suites of one instance, to be run for one purpose."""

    env_id: EnvId
    suite_ids: tuple[SuiteId, ...]
    purpose: Purpose = Purpose.JUDGE


def choose_instances(places: Places, snapshot: str, wanted: Iterable[str]) -> tuple[TaskInstance, ...]:
    """The instances of a snapshot, or those `wanted`; `NotFound` names what is not there."""
    found = Store(places.store).read(TaskInstance, snapshot=snapshot)
    if not found:
        raise NotFound(f"there is no snapshot {snapshot!r}", hint="swt import FILE --snapshot NAME makes one")
    by_id = {instance.instance_id: instance for instance in found}
    unknown = [name for name in wanted if name not in by_id]
    if unknown:
        raise NotFound(f"snapshot {snapshot} has no instance {', '.join(unknown)}", hint="see `FROM task_instance`")
    return tuple(by_id[InstanceId(name)] for name in wanted) or tuple(by_id[name] for name in sorted(by_id))


def take_candidates(
    places: Places,
    sources: tuple[str, ...],
    instances: tuple[TaskInstance, ...],
    policy: Policy,
    references: bool,
    methods: Iterable[str] = (),
) -> Taken:
    """Take candidates from predictions files, controls and the store; store them with what becomes of them.

    With `references` the golden suite of every instance is run as well. `methods` are names for the methods of files
    (`identity.method_names`). `UsageError` or `BadInput` where a file would take the place of another one.
    """
    now = datetime.now(UTC)
    store = Store(places.store)
    read = _read_sources(store, sources, methods, instances, now)
    candidates = merged(read)
    problems = [line for source, got in read.items() for line in lines_of(store, source, got, instances)]
    problems += _resubmissions(store, read)
    by_instance: dict[str, list[Candidate]] = {instance.instance_id: [] for instance in instances}
    for candidate in candidates:
        by_instance[candidate.instance_id].append(candidate)
    mirrors = Mirrors(places.mirrors)
    intakes: dict[InstanceId, Intake] = {}
    left: list[Left] = []
    for instance in instances:
        read_base = partial(mirrors.read_file, instance.repo, instance.base_commit)
        try:
            intakes[instance.instance_id] = take_in(instance, by_instance[instance.instance_id], policy, read_base)
        except NotFound as error:
            left.append(Left.by(instance.instance_id, error))
    _store_intake(
        store, [predictions for source, predictions in read.items() if not is_stored(source)], intakes.values()
    )
    submissions = [row for intake in intakes.values() for row in intake.submissions]
    problems += [f"{name}: golden tests: {i.golden_refused}" for name, i in intakes.items() if i.golden_refused]
    return Taken(
        suites={name: intake.suites_to_run(references=references) for name, intake in intakes.items()},
        candidates=len(submissions),
        malformed=sum(not row.well_formed for row in submissions),
        left=tuple(left),
        problems=tuple(problems),
    )


def _read_sources(
    store: Store, sources: Iterable[str], methods: Iterable[str], instances: tuple[TaskInstance, ...], now: datetime
) -> dict[str, Predictions]:
    """{source: what it holds}; predictions files under the names that their methods are given."""
    files = tuple(dict.fromkeys(filter(_is_file, sources)))
    names = method_names(files, methods)
    read = {source: _read_source(store, source, instances, now, names.get(source)) for source in dict.fromkeys(sources)}
    for file in files:
        refuse_reserved(file, read[file].candidates)
    return read


def _is_file(source: str) -> bool:
    return source not in RESERVED and not is_stored(source)


def _resubmissions(store: Store, read: Mapping[str, Predictions]) -> list[str]:
    """A line for each method whose file came with other patches before; `BadInput` where another file has its name."""
    lines: list[str] = []
    for file in filter(_is_file, read):
        candidates = read[file].candidates
        methods, snapshots = {row.method for row in candidates}, {row.snapshot for row in candidates}
        earlier = store.read(Candidate, snapshot=snapshots, method=methods, problem="") if candidates else ()
        lines += resubmitted(file, candidates, earlier)
    return lines


def _read_source(
    store: Store, source: str, instances: tuple[TaskInstance, ...], now: datetime, method: str | None
) -> Predictions:
    """Candidates of one source: a control by its name, `stored:METHOD`, anything else a predictions file."""
    if source == GOLDEN:
        return Predictions(tuple(golden_candidate(instance, created_at=now) for instance in instances), ())
    if source == NOP:
        return Predictions(tuple(nop_candidate(instance, created_at=now) for instance in instances), ())
    if is_stored(source):
        return stored_candidates(store, source, instances)
    return read_predictions(Path(source), instances, created_at=now, method=method)


def lines_of(store: Store, source: str, read: Predictions, asked: Iterable[TaskInstance]) -> list[str]:
    """What is wrong with a file of candidates or repairs, for people.

    Instances of the snapshot that are not among the ones `asked` for are one line: half a file may be of that kind.
    """
    strangers = {problem.instance_id for problem in read.problems if problem.what == NO_SUCH_INSTANCE}
    snapshots = {instance.snapshot for instance in asked} if strangers else set()
    others = {row.instance_id for row in store.read(TaskInstance, snapshot=snapshots)} & strangers if snapshots else ()
    named = [problem for problem in read.problems if problem.instance_id not in others]
    left = len(read.problems) - len(named)
    lines = [f"{Path(source).name}: {left} rows are of instances that were not asked for"] if left else []
    return [*lines, *(_line_of(source, problem) for problem in named)]


def _line_of(source: str, problem: LineProblem) -> str:
    return f"{Path(source).name}:{problem.line}: {problem.instance_id or '?'}: {problem.what}"


def _store_intake(store: Store, read: Iterable[Predictions], intakes: Iterable[Intake]) -> None:
    """Write what came in, one file per table: a later request about the same rows replaces what they say."""
    taken = tuple(intakes)
    store.write([candidate for predictions in read for candidate in predictions.candidates])
    store.write([row for intake in taken for row in intake.submissions])
    store.write([row for intake in taken for row in intake.suites])
    store.write([row for intake in taken for row in intake.edited])
    store.write([row for intake in taken for row in intake.lint])


def run_suites(places: Places, settings: RunSettings, unit: SuiteRuns) -> Ran:
    """Every run that these suites of one instance still need for their purpose."""
    store = Store(places.store)
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    suites = store.read(Suite, suite_id=unit.suite_ids)
    plan = _plan(store, places, settings, bench.instance, unit.purpose)
    wanted = (spec for suite in suites for spec in plan(bench, suite))
    return make_runs(places, settings, bench, wanted, traced_will_do=unit.purpose is Purpose.JUDGE)


def make_runs(
    places: Places, settings: RunSettings, bench: Bench, wanted: Iterable[RunSpec], *, traced_will_do: bool = False
) -> Ran:
    """Make and store those of the runs on one bench that the store does not have.

    With `traced_will_do`, a run that watched lines answers for one that is to watch none. Confirmations and guards are
    made untraced all the same: they show that watching changed nothing.
    """
    store = Store(places.store)
    specs = distinct(wanted)
    known = store.run_keys()
    todo = [
        spec
        for spec in specs
        if spec.run_key not in known and not (traced_will_do and traced(bench, spec).run_key in known)
    ]
    runs = _run_all(store, _workshop(places, settings, bench.environment), todo)
    failed = [run for run in runs if run.status is RunStatus.INFRASTRUCTURE]
    return Ran(
        executed=len(todo),
        reused=len(specs) - len(todo),
        left=tuple(_left(run) for run in failed),
    )


def _left(run: Run) -> Left:
    detail = f"{run.suite_kind} {run.code_state} {run.variant}: {run.detail}"
    return Left(subject=run.instance_id, error=InfrastructureError.slug, detail=detail, may_pass=True)


Plan = Callable[[Bench, Suite], tuple[RunSpec, ...]]


def _plan(store: Store, places: Places, settings: RunSettings, instance: TaskInstance, purpose: Purpose) -> Plan:
    """Which runs a suite needs for `purpose`."""
    if purpose is Purpose.GUARD:
        edits = _guard_edits(store, places, instance)
        return lambda bench, suite: in_secret_order(guard_specs(bench, suite, edits), _guard_secret(store, suite))
    plans: dict[Purpose, Plan] = {
        Purpose.JUDGE: suite_specs,
        Purpose.CONFIRM: confirmation_specs,
        Purpose.VALIDATE: partial(validation_specs, repeats=settings.repeats),
        Purpose.SETTLE: partial(settling_specs, repeats=settings.repeats),
        Purpose.HEALTH: partial(health_specs, repeats=settings.repeats),
        Purpose.DOUBT: doubt_specs,
    }
    return plans[purpose]


def _guard_edits(store: Store, places: Places, instance: TaskInstance) -> tuple[GuardEdit, ...]:
    """The edits of one instance, in the store as well."""
    edits = guard_edits(instance, partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit))
    known = store.read(GuardEdit, instance_key=instance.instance_key)
    if set(edits) != set(known):
        store.write(edits)
    return edits


def _guard_secret(store: Store, suite: Suite) -> str:
    """What orders the guard runs of a suite, drawn where the store has none yet."""
    known = store.read(GuardPlan, suite_id=suite.suite_id)
    if known:
        return known[0].secret
    drawn = GuardPlan(
        suite_id=suite.suite_id,
        instance_key=suite.instance_key,
        secret=secrets.token_hex(16),
        drawn_at=datetime.now(UTC),
    )
    store.write([drawn])
    return drawn.secret


def _run_all(store: Store, workshop: Workshop, specs: Sequence[RunSpec]) -> list[Run]:
    """One after the other; they share trees where the sandbox can show one to many."""
    if not specs:
        return []
    with spare_folder(workshop.scratch) as folder:
        sharing = replace(workshop, shared=folder if workshop.sandbox.overlays else None)
        return [_run_once(store, sharing, spec) for spec in specs]


def _run_once(store: Store, workshop: Workshop, spec: RunSpec) -> Run:
    """Run and store, the run row last: a kill leaves either all of it or nothing that counts.

    A run that fails for reasons of ours is tried once more; only the second failure is kept.
    """
    recorded = execute(spec, workshop)
    if recorded.run.status is RunStatus.INFRASTRUCTURE:
        recorded = execute(spec, workshop)
    log = store.put_file(recorded.log) if recorded.log else ""
    run = replace(recorded.run, log=log)
    store.write_run(run, recorded.cases, recorded.hits, recorded.watched)
    return run


def bench_of(places: Places, settings: RunSettings, snapshot: str, instance_id: InstanceId, env_id: EnvId) -> Bench:
    """What all runs of an instance have in common; its environment has to be built."""
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=snapshot, instance_id=instance_id)
    (environment,) = store.read(Environment, env_id=env_id)
    changed = store.read(ChangedLine, instance_key=instance.instance_key)
    return Bench(
        instance=instance,
        environment=environment,
        watches=watches(changed),
        sandbox=swept(settings.sandbox, trusted=settings.trusted, base=places.scratch).kind,
        limits=settings.limits,
        runner_version=runner_version(),
        tracer=settings.tracer,
    )


def _workshop(places: Places, settings: RunSettings, environment: Environment) -> Workshop:
    return Workshop(
        trees=Trees(Mirrors(places.mirrors), places.trees),
        sandbox=swept(settings.sandbox, trusted=settings.trusted, base=places.scratch),
        environment=partial(_installed, places, environment),
        scratch=places.scratch,
        config=asdict(settings),
    )


def _installed(places: Places, environment: Environment, spec: RunSpec) -> BuiltEnvironment:
    """What a run needs. Only golden patches are compiled: a fix that somebody proposed could leave anything behind in
    the compiler's cache, where the next build would find it."""
    if spec.variant is RunVariant.PROPOSED and needs_extensions(environment) and build_patches(spec.code_patches):
        raise BuildFailed("the proposed fix changes compiled sources, and nothing but golden patches is built")
    return installed(places.cache, environment, machine_interpreters(places.cache), spec.base_commit, spec.code_patches)


def check_sandbox(places: Places, settings: RunSettings) -> None:
    """Fail at once, and not in every unit, where there is no sandbox for the request."""
    swept(settings.sandbox, trusted=settings.trusted, base=places.scratch)
