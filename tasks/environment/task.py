"""Builds a locked environment for an instance's base commit.

Reads `task_instance`; writes `environment`, `environment_attempt`, `readiness` and `extension_build`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from tasks.adapters.extensions.products import needs_extensions
from tasks.adapters.git.commits import Commits
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.split import Kind, kind_of
from tasks.adapters.runner.collect import Collection, State, collect
from tasks.adapters.runner.launch import FIXED_ENV, complete
from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.sandbox.select import swept
from tasks.adapters.store.files.provenance import version_of
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.builder import Builder, environment_root, is_built, load_environment, machine_builder
from tasks.adapters.uv.host_environment import RECIPE as HOST
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment, EnvironmentPlan
from tasks.adapters.uv.services import services_named
from tasks.domain.environment import Cause, Environment, EnvironmentAttempt, ExtensionBuild, Readiness
from tasks.domain.errors import BuildFailed, InfrastructureError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, RepoPath, content_key
from tasks.domain.outcome import RunnerKind, SandboxKind
from tasks.domain.places import Places
from tasks.domain.run import Limits
from tasks.domain.undone import InEnvironment, OfInstance
from tasks.environment.extensions import extension_builds, with_extensions
from tasks.environment.inference import INFERRED, READERS
from tasks.environment.plan_adjustments import BuildOptions
from tasks.environment.project_files.project import read_project
from tasks.environment.readiness.build_problems import BuildProblem
from tasks.environment.readiness.check import (
    TestRequirements,
    demand,
    driven_cases,
    judge,
    own_packages,
    readiness_key,
    readiness_row,
    trouble_of,
    wanting,
)
from tasks.environment.readiness.data_readers import drivers
from tasks.environment.recipes import Recipe, assignments, load_recipes, load_service
from tasks.environment.resolve import Books, Climb, already, climb, plan_ladder, resolve, service_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The sandbox in which tests are collected."""

    sandbox: SandboxKind | None = None
    trusted: bool = False
    """Whether the code may run without isolation."""


CHECK_LIMITS = Limits(wall_s=600.0)
WATCHED = (RunnerKind.PYTEST, RunnerKind.UNITTEST)
"""Runners that record during collection which cases read which files."""
DECIDING = (
    *("tasks.environment", "tasks.adapters.uv", "tasks.adapters.runner", "tasks.adapters.extensions"),
    *("tasks.adapters.patch", "tasks.domain"),
)
"""Packages whose code affects which environment an instance gets."""


def find_environment(places: Places, settings: CheckSettings, unit: OfInstance) -> EnvId:
    """Returns the environment of an instance that the last attempt on any machine found, if its inputs are unchanged.

    That environment may be missing on this machine. Otherwise it builds the environment like `prepare_environment`.
    """
    return _environment_of(places, settings, unit, here=False)


def prepare_environment(places: Places, settings: CheckSettings, unit: OfInstance) -> EnvId:
    """Returns the environment of one instance; builds it on this machine if missing.

    Raises `BuildFailed` if no plan is ready, `InfrastructureError` if a retry may help, `NotFound` if the mirror or its
    commit is missing.
    """
    return _environment_of(places, settings, unit, here=True)


def _environment_of(places: Places, settings: CheckSettings, unit: OfInstance, *, here: bool) -> EnvId:
    store, instance = Store(places.store), _instance(places, unit)
    basis = ladder_basis(places, settings, instance)
    known = _known_environment(places, instance, basis)
    if known and (not here or _is_here(places, instance, known)):
        return known.env_id
    climbed = climb_for(places, settings, instance)
    record(store, instance, climbed, basis)
    if climbed.built is None:
        asked = store.read(EnvironmentAttempt, instance_id=instance.instance_id)
        last = max(asked, key=lambda row: row.tried_at).error.partition("\n")[0] if asked else "no rung was tried"
        hint = f"see `FROM environment_attempt WHERE instance_id = '{instance.instance_id}'`"
        raise BuildFailed(f"no environment is ready: {last}", hint=hint)
    record_extensions(places, instance, climbed.built.environment)
    return climbed.built.environment.env_id


def ladder_basis(places: Places, settings: CheckSettings, instance: TaskInstance) -> str:
    """Returns the content key of all inputs that determine an instance's environment, except for the package indexes.

    It is equal on machines with the same interpreter versions, whatever their paths.
    """
    kind = swept(settings.sandbox, trusted=settings.trusted, base=places.scratch).kind
    interpreters = [one.version for one in machine_interpreters(places.cache)]
    about = [instance.instance_key, instance.repo, instance.base_commit, instance.version]
    return content_key("ladder", version_of(*DECIDING), _recipes_key(places.recipes), interpreters, kind, about)


@lru_cache(maxsize=4)
def _recipes_key(folder: Path) -> str:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return content_key("recipes", [[str(path.relative_to(folder)), path.read_text("utf-8")] for path in found])


def _instance(places: Places, unit: OfInstance) -> TaskInstance:
    (instance,) = Store(places.store).read(TaskInstance, snapshot=unit.snapshot, instance_id=unit.instance_id)
    return instance


def _known_environment(places: Places, instance: TaskInstance, basis: str) -> Environment | None:
    """Returns the environment of the last attempt with the same inputs. Ignores the environment of the running
    interpreter, because it differs between machines."""
    store = Store(places.store)
    climbs = [row for row in store.read(EnvironmentAttempt, instance_key=instance.instance_key) if row.basis == basis]
    last = max(climbs, key=lambda row: row.tried_at, default=None)
    found = store.read(Environment, env_id=last.env_id) if last and last.env_id else ()
    return found[0] if found and found[0].recipe != HOST else None


def has_environment(places: Places, unit: InEnvironment) -> bool:
    """Whether this machine has everything that a task needs of its stored environment."""
    (environment,) = Store(places.store).read(Environment, env_id=unit.env_id)
    return environment.recipe == HOST or _is_here(places, _instance(places, unit), environment)


def build_again(places: Places, settings: CheckSettings, unit: InEnvironment) -> None:
    """Builds on this machine an environment that another machine found.

    Raises the errors of `prepare_environment`, and `InfrastructureError` if the build now gives another environment.
    """
    built = prepare_environment(places, settings, unit)
    if built != unit.env_id:
        found = f"the environment {unit.env_id}, which is not here and comes to {built} now"
        message = f"{unit.instance_id} has runs in {found}"
        raise InfrastructureError(message, hint="start again: what is left is done in the new one")


def _is_here(places: Places, instance: TaskInstance, environment: Environment) -> bool:
    """Whether the environment, its services, and the extension modules of both code states are on this machine."""
    if not all(is_built(places.cache, env_id) for env_id in (environment.env_id, *services_named(environment))):
        return False
    with suppress(InfrastructureError):
        return not needs_extensions(environment) or bool(extension_builds(places, instance, environment))
    return False


def climb_for(places: Places, settings: CheckSettings, instance: TaskInstance) -> Climb:
    """Finds or builds the environment of one instance, and checks that its tests can be collected there.

    Stores only `readiness`. Raises the errors of `prepare_environment`.
    """
    mirrors = Mirrors(places.mirrors)
    committed_at = mirrors.committed_at(instance.repo, instance.base_commit)
    read = partial(_read_text, mirrors, instance)
    resolved = resolve(instance, read, books(places.recipes))
    if resolved.picked and resolved.picked.recipe.install == "host":
        built = _on_this_interpreter(instance, resolved.picked.recipe)
        asked = demand(instance, partial(mirrors.read_file, instance.repo, instance.base_commit))
        if isinstance(asked, TestRequirements) and asked.data:
            # Finds the cases that read the data. The result is ignored, because there is no other plan.
            _check(places, settings, instance, built)
        return already(instance, built, "host")
    interpreters = machine_interpreters(places.cache)
    means = BuildOptions(project=read_project(read, READERS), interpreters=interpreters)
    return climb(
        instance,
        plan_ladder(resolved, read, interpreters, committed_at),
        partial(_build, places, settings, instance),
        partial(_check, places, settings, instance, declared=tuple(means.declared)),
        means,
    )


def _check(
    places: Places,
    settings: CheckSettings,
    instance: TaskInstance,
    built: BuiltEnvironment,
    *,
    declared: tuple[str, ...] = (),
) -> BuildProblem | None:
    """Returns the stored problem of this instance in this environment; collects its tests if none is stored.

    `declared` are the names of all declared requirements of the project. Tests may skip without them.
    """
    store = Store(places.store)
    sandbox = swept(settings.sandbox, trusted=settings.trusted, base=places.scratch)
    environment = built.environment
    known = store.read(Readiness, readiness_key=readiness_key(instance, environment, sandbox.kind))
    if known:
        return trouble_of(known[0])
    read_base = partial(Mirrors(places.mirrors).read_file, instance.repo, instance.base_commit)
    asked = demand(instance, read_base)
    if isinstance(asked, Refused):
        return None  # the runs will report that the patches do not apply
    own = own_packages(asked.changes, environment.source_roots, read_base)
    inside = partial(_collect, places, instance, built, sandbox)
    inferred = environment.recipe == INFERRED
    drivers = _drivers(places, instance, environment, asked.data)
    trouble: BuildProblem | None = None
    found: Collection | None = None
    if drivers or asked.data:
        found = inside(asked.watching(drivers, own))
        driven = driven_cases(instance, environment, found.states)
        store.write(driven, key=content_key("driven", instance.instance_key, environment.env_id))
        trouble = None if driven else judge(found, own, fixtures=inferred)
        if trouble and trouble.cause is Cause.PROJECT:
            trouble = None  # the module is only a possible reader of the data, so its error does not count
        asked = replace(asked, after=()) if driven or trouble else asked
    if asked.after:
        found = inside(asked.states(own))
        trouble = judge(found, own, fixtures=inferred)
        if asked.data and environment.runner in WATCHED:
            trouble = None  # no case reads these files: they are Python files used as data, and need not be importable
    if found is None:
        return None  # nothing to collect
    if trouble is None and inferred:
        trouble = wanting(found, asked.sources, environment, declared)
    row = readiness_row(instance, environment, sandbox.kind, found, trouble)
    store.write([row], key=row.readiness_key)
    return trouble


def _collect(
    places: Places, instance: TaskInstance, built: BuiltEnvironment, sandbox: Sandbox, states: tuple[State, ...]
) -> Collection:
    """Collects these states once, in a separate checkout."""
    with spare_folder(places.scratch) as folder:
        checkout = folder / "checkout"
        trees = Trees(Mirrors(places.mirrors), places.trees)
        Commits(trees).checkout(instance.repo, instance.base_commit, checkout)
        complete(checkout, built)
        return collect(
            sandbox,
            built,
            states,
            env=(*FIXED_ENV, *built.environment.env),
            limits=CHECK_LIMITS,
            checkout=checkout,
            folder=folder,
        )


def _drivers(
    places: Places, instance: TaskInstance, environment: Environment, data: tuple[RepoPath, ...]
) -> tuple[RepoPath, ...]:
    """Returns the test modules of the base commit that may read `data`; none if the runner cannot record reads."""
    if not data or environment.runner not in WATCHED:
        return ()
    mirrors = Mirrors(places.mirrors)
    entries = mirrors.python_files(instance.repo, instance.base_commit)
    modules = [one for one in entries if one.is_plain and kind_of(one.path) is Kind.MODULE]
    texts = mirrors.blobs(instance.repo, [one.sha for one in modules])
    read = {RepoPath(one.path): text.decode("utf-8", "replace") for one, text in zip(modules, texts, strict=True)}
    return drivers(data, read)


def _on_this_interpreter(instance: TaskInstance, recipe: Recipe) -> BuiltEnvironment:
    return host_environment(
        instance.repo,
        source_roots=recipe.source_roots or ("",),
        runner=recipe.runner,
        test_args=recipe.test_args,
        env=assignments(recipe.env),
    )


def _read_text(mirrors: Mirrors, instance: TaskInstance, path: str) -> str | None:
    data = mirrors.read_file(instance.repo, instance.base_commit, path)
    return None if data is None else data.decode("utf-8", "replace")


def _build(places: Places, settings: CheckSettings, instance: TaskInstance, plan: EnvironmentPlan) -> BuiltEnvironment:
    sandbox = _sandbox_of_builds(places, settings)
    builder = machine_builder(places.cache, sandbox, places.scratch)
    named = tuple(f"{name}={_build_service(places, builder, name).environment.env_id}" for name in plan.services)
    plan = replace(plan, services=named)
    with spare_folder(places.scratch) as folder:
        built = builder.build(plan, partial(_checkout, places, instance, folder / "checkout"))
    return with_extensions(places, sandbox, instance, plan.extensions, built) if plan.extensions else built


def _sandbox_of_builds(places: Places, settings: CheckSettings) -> Sandbox:
    """Returns the first working sandbox of this machine, independent of the sandbox for tests.

    A build needs the machine's compilers, which an image may lack. Raises `UsageError` if no sandbox isolates and the
    code is not trusted.
    """
    return swept(None, trusted=settings.trusted, base=places.scratch)


def _build_service(places: Places, builder: Builder, name: str) -> BuiltEnvironment:
    plan = service_plan(name, load_service(places.recipes, name), machine_interpreters(places.cache))
    return builder.build(plan, Path)  # not editable, so the builder never uses the checkout


def _checkout(places: Places, instance: TaskInstance, into: Path) -> Path:
    Trees(Mirrors(places.mirrors), places.trees).checkout(instance.repo, instance.base_commit, into)
    return into


def record(store: Store, instance: TaskInstance, climbed: Climb, basis: str = "") -> None:
    """Stores an environment that is not stored yet, and attempts with another result or other inputs."""
    built = climbed.built
    if built and not store.read(Environment, env_id=built.environment.env_id):
        store.write([built.environment], key=built.environment.env_id)
    known = store.read(EnvironmentAttempt, instance_key=instance.instance_key)
    before = {_said(attempt) for attempt in known}
    made = [replace(attempt, basis=basis) for attempt in climbed.attempts]
    store.write([attempt for attempt in made if _said(attempt) not in before])


def _said(attempt: EnvironmentAttempt) -> tuple[str, EnvId | None, str, str]:
    return attempt.rung, attempt.env_id, attempt.error, attempt.basis


def record_extensions(places: Places, instance: TaskInstance, environment: Environment) -> None:
    """Stores new rows about an instance's extension modules, and the environment of their build tools."""
    store = Store(places.store)
    if not needs_extensions(environment):
        return
    rows = extension_builds(places, instance, environment)
    known = set(store.read(ExtensionBuild, instance_key=instance.instance_key))
    store.write([row for row in rows if row not in known])
    for env_id in {row.tools for row in rows}:
        if not store.read(Environment, env_id=env_id):
            store.write([load_environment(environment_root(places.cache, env_id)).environment], key=env_id)


@lru_cache(maxsize=4)
def books(folder: Path) -> Books:
    """Returns the recipes of a folder; cached per process."""
    return load_recipes(folder)
