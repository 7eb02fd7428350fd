"""Runs suites and stores the results. Makes no decision about outcomes.

Reads `task_instance`, `environment`, `suite`, `proposed_fix`; writes `guard_edit`, `guard_plan`, `fix_run`,
`run_request` and the four tables of a run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

from tasks.adapters.coordination.interface import Claim
from tasks.adapters.extensions.products import needs_extensions
from tasks.adapters.extensions.sources import build_patches
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.runner.job import runner_version
from tasks.adapters.sandbox.base_trees import Bases
from tasks.adapters.sandbox.select import swept
from tasks.adapters.store.maintenance.claims import claims_of
from tasks.adapters.store.tables.store import Store
from tasks.adapters.text import counted
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.candidate import Suite
from tasks.domain.environment import Environment
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.guard_edit import GuardEdit, GuardPlan
from tasks.domain.instance import ChangedLine, TaskInstance
from tasks.domain.names import EnvId, FixId, InstanceId, RunKey, SuiteId
from tasks.domain.outcome import RunStatus, RunVariant, SandboxKind, Tracer
from tasks.domain.places import Places
from tasks.domain.proposed_fix import FixRun, ProposedFix
from tasks.domain.run import Limits, Run, RunRequest, RunSpec
from tasks.domain.undone import InEnvironment, PartialFailure
from tasks.evaluate.intake.submissions import intake_version
from tasks.evaluate.runs.execute import RunResources, execute
from tasks.evaluate.runs.plan import (
    RunContext,
    confirmation_specs,
    decoy_spec,
    distinct,
    guard_specs,
    in_secret_order,
    suite_specs,
    traced,
    watches,
)
from tasks.evaluate.runs.validation_plan import (
    Repeats,
    doubt_specs,
    hangs,
    health_specs,
    second_look_specs,
    settling_specs,
    validation_specs,
)
from tasks.integrity.edits import guard_edits


class Purpose(StrEnum):
    """The purpose of a run."""

    JUDGE = "judge"
    """Runs that verdicts need."""
    GUARD = "guard"
    """Robustness checks of a success."""
    CONFIRM = "confirm"
    """The runs of `JUDGE` without tracing."""
    VALIDATE = "validate"
    """Repeats of golden tests under other conditions."""
    SETTLE = "settle"
    """Many more repeats of golden tests whose runs disagree."""
    HEALTH = "health"
    """Monthly re-check of golden tests."""
    SECOND = "second"
    """Many more repeats of the golden tests of a retired instance."""
    DOUBT = "doubt"
    """Runs of unsolved golden tests with a network, and two more without."""


MORE_OF_THE_SAME = (Purpose.VALIDATE, Purpose.SETTLE, Purpose.HEALTH)
"""Purposes whose repeats stop once golden tests hang. `SECOND` is not among them: it needs runs of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings for running suites."""

    sandbox: SandboxKind | None = None
    trusted: bool = False
    """Whether the code may run without isolation."""
    limits: Limits = field(default_factory=Limits)
    tracer: Tracer = Tracer.PROBE
    repeats: Repeats = field(default_factory=Repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The runs of one task."""

    executed: int = 0
    reused: int = 0
    left: tuple[PartialFailure, ...] = ()
    """Executed runs with an internal failure."""

    def __add__(self, other: Ran) -> Ran:
        return Ran(
            executed=self.executed + other.executed,
            reused=self.reused + other.reused,
            left=self.left + other.left,
        )

    def __str__(self) -> str:
        return f"{counted(self.executed, 'run')}, {self.reused} reused"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRuns(InEnvironment):
    """Suites of one instance to run for one purpose."""

    suite_ids: tuple[SuiteId, ...]
    purpose: Purpose = Purpose.JUDGE
    decoys: tuple[FixId, ...] = ()
    """The chosen decoys of the instance; used for `Purpose.GUARD` only."""


def choose_instances(places: Places, snapshot: str, wanted: Iterable[str]) -> tuple[TaskInstance, ...]:
    """Returns the `wanted` instances of a snapshot, or all. Raises `NotFound` with the missing ids."""
    found = Store(places.store).read(TaskInstance, snapshot=snapshot)
    if not found:
        raise NotFound(f"there is no snapshot {snapshot!r}", hint="swt import FILE --snapshot NAME makes one")
    by_id = {instance.instance_id: instance for instance in found}
    unknown = [name for name in wanted if name not in by_id]
    if unknown:
        raise NotFound(f"snapshot {snapshot} has no instance {', '.join(unknown)}", hint="see `FROM task_instance`")
    return tuple(by_id[InstanceId(name)] for name in wanted) or tuple(by_id[name] for name in sorted(by_id))


def run_suites(places: Places, settings: RunSettings, unit: SuiteRuns) -> Ran:
    """Executes all missing runs of these suites for their purpose."""
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    return make_runs(
        places,
        settings,
        bench,
        _wanted(places, settings, bench, unit),
        traced_will_do=unit.purpose is Purpose.JUDGE,
        unless_hanging=unit.purpose in MORE_OF_THE_SAME,
    )


def lacks_runs(places: Places, settings: RunSettings, unit: SuiteRuns) -> bool:
    """Whether `run_suites` would execute a run, or wait for one."""
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    specs = distinct(_wanted(places, settings, bench, unit))
    answers = _answers(Store(places.store), bench, specs, traced_will_do=unit.purpose is Purpose.JUDGE)
    return any(spec.run_key not in answers for spec in specs)


def _wanted(places: Places, settings: RunSettings, bench: RunContext, unit: SuiteRuns) -> Iterator[RunSpec]:
    store = Store(places.store)
    # An empty list of files would run all tests.
    suites = [suite for suite in store.read(Suite, suite_id=unit.suite_ids) if suite.files]
    plan = _plan(store, places, settings, bench.instance, unit)
    return (spec for suite in suites for spec in plan(bench, suite))


def write_fix_runs(store: Store, runs: Iterable[tuple[ProposedFix, Suite, RunSpec]]) -> None:
    """Stores which run tests which suite on which fix, except for rows already stored."""
    links = {
        FixRun(
            fix_id=fix.fix_id,
            instance_key=fix.instance_key,
            instance_id=fix.instance_id,
            suite_id=suite.suite_id,
            run_key=spec.run_key,
        )
        for fix, suite, spec in runs
    }
    known = set(store.read(FixRun, fix_id={link.fix_id for link in links})) if links else set()
    store.write(sorted(links - known, key=lambda link: link.run_key))


def _answers(
    store: Store, bench: RunContext, specs: Iterable[RunSpec], *, traced_will_do: bool
) -> dict[RunKey, RunKey]:
    """Returns {key of a planned run: key of a stored run that serves it}; planned runs without one are left out."""
    known = store.run_keys()
    found = ((spec, _may_answer(bench, spec, traced_will_do=traced_will_do)) for spec in specs)
    return {spec.run_key: next(key for key in keys if key in known) for spec, keys in found if known.intersection(keys)}


def _may_answer(bench: RunContext, spec: RunSpec, *, traced_will_do: bool) -> tuple[RunKey, ...]:
    """Returns the keys of runs that serve a planned run, in order of preference."""
    return (spec.run_key, traced(bench, spec).run_key) if traced_will_do else (spec.run_key,)


def make_runs(
    places: Places,
    settings: RunSettings,
    bench: RunContext,
    wanted: Iterable[RunSpec],
    *,
    traced_will_do: bool = False,
    unless_hanging: bool = False,
) -> Ran:
    """Executes and stores the missing runs of one instance, each under a claim. Runs claimed by other processes come
    last: by then most of them are stored.

    With `traced_will_do`, a stored run that watched lines also serves a planned run without watched lines.
    Confirmations and checks do not use this. With `unless_hanging`, a run that `hangs` according to earlier runs is
    neither executed nor requested.

    Every planned run is stored as a request, even if its run is already stored: another instance may have made it.
    """
    store = Store(places.store)
    planned = tuple(wanted)
    specs = distinct(planned)
    answers = _answers(store, bench, specs, traced_will_do=traced_will_do)
    todo = [spec for spec in specs if spec.run_key not in answers]
    workshop, claims = _workshop(places, settings, bench.environment), claims_of(store, places.cache)
    runs: list[Run] = []
    earlier = store.requested_runs([bench.instance.instance_key]) if unless_hanging and todo else ()
    left_out = 0

    def make(spec: RunSpec, *, wait: bool) -> bool:
        """Returns False if another process holds the claim."""
        nonlocal left_out
        if unless_hanging and hangs(spec, (*earlier, *runs)):
            left_out += 1
            return True
        with claims.claim(spec.run_key, wait=wait) as claim:
            if claim:
                keys = _may_answer(bench, spec, traced_will_do=traced_will_do)
                stored = next((key for key in keys if store.has_run(key, bench.instance.repo)), None)
                if stored is None:
                    runs.extend(_run_once(store, workshop, spec, claim))
                answers[spec.run_key] = stored or spec.run_key
            return claim is not None

    for spec in [spec for spec in todo if not make(spec, wait=False)]:
        make(spec, wait=True)
    now = datetime.now(UTC)
    store.write_requests(RunRequest.of(spec, answers[spec.run_key], now) for spec in planned if spec.run_key in answers)
    failed = [run for run in runs if run.status is RunStatus.INFRASTRUCTURE]
    return Ran(
        executed=len(runs),
        reused=len(specs) - len(runs) - left_out,
        left=tuple(_left(run) for run in failed),
    )


def _left(run: Run) -> PartialFailure:
    detail = f"{run.suite_kind} {run.code_state} {run.variant}: {run.detail}"
    return PartialFailure(subject=run.instance_id, error=InfrastructureError.slug, detail=detail, may_pass=True)


Plan = Callable[[RunContext, Suite], tuple[RunSpec, ...]]


def _plan(store: Store, places: Places, settings: RunSettings, instance: TaskInstance, unit: SuiteRuns) -> Plan:
    """Returns the plan of runs for the purpose of `unit`."""
    if unit.purpose is Purpose.GUARD:
        claims = claims_of(store, places.cache)
        # Without the claim, two processes could draw different secrets, and each would run its own set of checks.
        with claims.claim(f"guard-edits-{instance.instance_key}", wait=True):
            edits = _guard_edits(store, places, instance)
        decoys = store.read(ProposedFix, fix_id=unit.decoys) if unit.decoys else ()

        def guards(bench: RunContext, suite: Suite) -> tuple[RunSpec, ...]:
            with claims.claim(f"guard-plan-{suite.suite_id}", wait=True):
                secret = _guard_secret(store, suite)
            write_fix_runs(store, [(decoy, suite, decoy_spec(bench, suite, decoy)) for decoy in decoys])
            return in_secret_order(guard_specs(bench, suite, edits, decoys), secret)

        return guards
    plans: dict[Purpose, Plan] = {
        Purpose.JUDGE: suite_specs,
        Purpose.CONFIRM: confirmation_specs,
        Purpose.VALIDATE: partial(validation_specs, repeats=settings.repeats),
        Purpose.SETTLE: partial(settling_specs, repeats=settings.repeats),
        Purpose.HEALTH: partial(health_specs, repeats=settings.repeats),
        Purpose.SECOND: partial(second_look_specs, repeats=settings.repeats),
        Purpose.DOUBT: doubt_specs,
    }
    return plans[unit.purpose]


def _guard_edits(store: Store, places: Places, instance: TaskInstance) -> tuple[GuardEdit, ...]:
    """Returns the edits of one instance; generates and stores them if missing or made by another code version."""
    known = store.read(GuardEdit, instance_key=instance.instance_key)
    if known and all(edit.made_by == intake_version() for edit in known):
        return known
    read_base = partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit)
    secret = next((edit.secret for edit in known if edit.secret), secrets.token_hex(16))
    made = tuple(replace(edit, made_by=intake_version()) for edit in guard_edits(instance, read_base, secret))
    store.write(made)
    return made


def _guard_secret(store: Store, suite: Suite) -> str:
    """Returns the secret that orders the checks of a suite; draws and stores it if the store has none."""
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


def _run_once(store: Store, workshop: RunResources, spec: RunSpec, claim: Claim) -> Iterator[Run]:
    """Executes and stores a run. The run row is written last, so a killed process leaves all rows or none that count.

    A run with an internal failure is retried once; only the second failure is stored. Nothing is stored if another
    process took over the claim and already stored the run. That happens when this process is suspended for long.
    """
    recorded = execute(spec, workshop)
    if recorded.run.status is RunStatus.INFRASTRUCTURE:
        recorded = execute(spec, workshop)
    if not claim.confirmed() and store.has_run(spec.run_key, recorded.run.repo):
        return
    log = store.put_file(recorded.log) if recorded.log else ""
    run = replace(recorded.run, log=log)
    store.write_run(run, recorded.cases, recorded.hits, recorded.watched)
    yield run


def bench_of(
    places: Places, settings: RunSettings, snapshot: str, instance_id: InstanceId, env_id: EnvId
) -> RunContext:
    """Returns the shared inputs of an instance's runs; its environment must be stored."""
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=snapshot, instance_id=instance_id)
    (environment,) = store.read(Environment, env_id=env_id)
    changed = store.read(ChangedLine, instance_key=instance.instance_key)
    return RunContext(
        instance=instance,
        environment=environment,
        watches=watches(changed),
        sandbox=swept(settings.sandbox, trusted=settings.trusted, base=places.scratch).kind,
        limits=settings.limits,
        runner_version=runner_version(),
        tracer=settings.tracer,
    )


def _workshop(places: Places, settings: RunSettings, environment: Environment) -> RunResources:
    sandbox = swept(settings.sandbox, trusted=settings.trusted, base=places.scratch)
    return RunResources(
        trees=Trees(Mirrors(places.mirrors), places.trees),
        sandbox=sandbox,
        bases=Bases(places.bases) if sandbox.overlays(places.bases) else None,
        environment=partial(_installed, places, environment),
        scratch=places.scratch,
        config=asdict(settings),
    )


def _installed(places: Places, environment: Environment, spec: RunSpec) -> BuiltEnvironment:
    """Returns the built environment of a run. Compiles only golden patches.

    A proposed fix could leave files in the compiler's cache, which the next build would then use.
    """
    if spec.variant is RunVariant.PROPOSED and needs_extensions(environment) and build_patches(spec.built_patches):
        raise BuildFailed("the proposed fix changes compiled sources, and nothing but golden patches is built")
    return installed(
        places.cache, environment, machine_interpreters(places.cache), spec.base_commit, spec.built_patches
    )


def check_sandbox(places: Places, settings: RunSettings) -> None:
    """Raises an error if no sandbox is available, so that the flow fails once instead of in every task."""
    swept(settings.sandbox, trusted=settings.trusted, base=places.scratch)
