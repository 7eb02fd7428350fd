"""Evaluate: suites become runs. Reads and writes rows; decides nothing itself.

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
    """What suites are run for."""

    JUDGE = "judge"
    """The runs that verdicts need."""
    GUARD = "guard"
    """The robustness checks of a would-be success."""
    CONFIRM = "confirm"
    """The same without tracing."""
    VALIDATE = "validate"
    """Golden tests again, under other conditions."""
    SETTLE = "settle"
    """Golden tests that disagree with themselves, many times more."""
    HEALTH = "health"
    """Golden tests once more, a month later."""
    SECOND = "second"
    """Golden tests of a retired instance, many times more."""
    DOUBT = "doubt"
    """Golden tests that are not solved, with a network and twice more."""


MORE_OF_THE_SAME = (Purpose.VALIDATE, Purpose.SETTLE, Purpose.HEALTH)
"""Purposes that more runs serve, as far as these can tell anything new. A second look has to have runs of its own."""


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
class Ran:
    """What one unit of runs did."""

    executed: int = 0
    reused: int = 0
    left: tuple[PartialFailure, ...] = ()
    """Of the executed ones, those that failed for reasons of ours."""

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
    """Suites of one instance, to be run for one purpose."""

    suite_ids: tuple[SuiteId, ...]
    purpose: Purpose = Purpose.JUDGE
    decoys: tuple[FixId, ...] = ()
    """The chosen decoys of the instance; needed for `Purpose.GUARD` only."""


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


def run_suites(places: Places, settings: RunSettings, unit: SuiteRuns) -> Ran:
    """Every run that these suites of one instance still need for their purpose."""
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
    """Whether `run_suites` would find one to make, or to wait for."""
    bench = bench_of(places, settings, unit.snapshot, unit.instance_id, unit.env_id)
    specs = distinct(_wanted(places, settings, bench, unit))
    answers = _answers(Store(places.store), bench, specs, traced_will_do=unit.purpose is Purpose.JUDGE)
    return any(spec.run_key not in answers for spec in specs)


def _wanted(places: Places, settings: RunSettings, bench: RunContext, unit: SuiteRuns) -> Iterator[RunSpec]:
    store = Store(places.store)
    suites = [suite for suite in store.read(Suite, suite_id=unit.suite_ids) if suite.files]  # none would mean all
    plan = _plan(store, places, settings, bench.instance, unit)
    return (spec for suite in suites for spec in plan(bench, suite))


def write_fix_runs(store: Store, runs: Iterable[tuple[ProposedFix, Suite, RunSpec]]) -> None:
    """Store which run tries which suite on which fix, unless the store has it."""
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
    """The key of a planned run → the key of the stored run that answers; those without an answer are left out."""
    known = store.run_keys()
    found = ((spec, _may_answer(bench, spec, traced_will_do=traced_will_do)) for spec in specs)
    return {spec.run_key: next(key for key in keys if key in known) for spec, keys in found if known.intersection(keys)}


def _may_answer(bench: RunContext, spec: RunSpec, *, traced_will_do: bool) -> tuple[RunKey, ...]:
    """Keys of the runs that answer for a planned one, the first that is stored."""
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
    """Make and store those of the runs on one bench that the store does not have, each claimed meanwhile. What somebody
    else is at comes last: mostly it is there by then.

    With `traced_will_do`, a run that watched lines answers for one that is to watch none. Confirmations and checks are
    made all the same. With `unless_hanging`, what `hangs` by the runs that there are is not run once more, and is not
    requested.

    Every planned run is stored as a request, also where its run was stored before: another instance may have made it.
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
        """Whether nobody else is at it."""
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
    """Which runs a suite needs for the purpose of `unit`."""
    if unit.purpose is Purpose.GUARD:
        claims = claims_of(store, places.cache)
        # Two processes that draw at the same time would each run the checks of their own secret.
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
    """The edits of one instance, in the store as well."""
    known = store.read(GuardEdit, instance_key=instance.instance_key)
    if known and all(edit.made_by == intake_version() for edit in known):
        return known
    read_base = partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit)
    secret = next((edit.secret for edit in known if edit.secret), secrets.token_hex(16))
    made = tuple(replace(edit, made_by=intake_version()) for edit in guard_edits(instance, read_base, secret))
    store.write(made)
    return made


def _guard_secret(store: Store, suite: Suite) -> str:
    """What orders the checks of a suite, drawn where the store has none yet."""
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
    """Run and store, the run row last: a kill leaves either all of it or nothing that counts.

    A run that fails for reasons of ours is tried once more; only the second failure is kept. None is kept where
    somebody took the claim over, since this process stood still, and has made it.
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
    """What all runs of an instance have in common; its environment has to be in the store."""
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
    """What a run needs. Only golden patches are compiled: a fix that somebody proposed could leave anything behind in
    the compiler's cache, where the next build would find it."""
    if spec.variant is RunVariant.PROPOSED and needs_extensions(environment) and build_patches(spec.built_patches):
        raise BuildFailed("the proposed fix changes compiled sources, and nothing but golden patches is built")
    return installed(
        places.cache, environment, machine_interpreters(places.cache), spec.base_commit, spec.built_patches
    )


def check_sandbox(places: Places, settings: RunSettings) -> None:
    """Fail at once, and not in every unit, where there is no sandbox for the request."""
    swept(settings.sandbox, trusted=settings.trusted, base=places.scratch)
