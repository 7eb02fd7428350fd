"""Instance → environment plans, and the climb from plan to built environment with every attempt recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tasks.adapters.uv.interpreters import pick
from tasks.adapters.uv.plan import BuiltEnvironment, EnvironmentPlan, Interpreter, TextFile
from tasks.adapters.uv.process import PackageFailed
from tasks.domain.environment import EnvironmentAttempt
from tasks.domain.errors import BuildFailed, NotFound, SwtError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, RepoName, RepoPath
from tasks.environment.inference import READERS, Proposal, infer, source_roots, test_runner
from tasks.environment.project import PROJECT_FILES, Project, read_project
from tasks.environment.pythons import choose_python
from tasks.environment.recipes import Picked, Recipe, RecipeBook
from tasks.environment.requirements import Read, Requirements, name_of, normal, parse_lines, read_requirements
from tasks.environment.version_files import NO_VERSION, latest_version, version_files
from tasks.environment.versions import derive_version

Books = Mapping[RepoName, RecipeBook]

PRETEND = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS")
"""What tells a build its version where there are no tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What is known of an instance's environment before anything is planned."""

    repo: RepoName
    version: str | None
    """The row's own, else what the checkout's files say by the rules of its recipe file."""
    picked: Picked | None
    """Null where no recipe covers the version; then the environment is inferred."""


def resolve(instance: TaskInstance, read: Read, books: Books) -> Resolved:
    """Find an instance's version and its recipe; `read` gives files of the base commit."""
    book = books.get(instance.repo)
    if book is None:
        return Resolved(repo=instance.repo, version=instance.version, picked=None)
    version = instance.version or derive_version(read, book.version_rules)
    return Resolved(repo=instance.repo, version=version, picked=book.pick(version))


def plan_ladder(
    resolved: Resolved, read: Read, interpreters: tuple[Interpreter, ...], committed_at: datetime
) -> tuple[EnvironmentPlan, ...]:
    """Plans for an instance, in the order in which they are tried: its recipe alone, else one per rung.

    `read` gives files of the base commit, `committed_at` is that commit's committer date (UTC). Raises `NotFound`
    where this machine has no fitting interpreter.
    """
    if resolved.picked:
        return (_from_recipe(resolved.repo, resolved.version, resolved.picked, read, interpreters),)
    return _inferred(resolved.repo, resolved.version, read, interpreters, committed_at)


def _from_recipe(
    repo: RepoName, version: str | None, picked: Picked, read: Read, interpreters: tuple[Interpreter, ...]
) -> EnvironmentPlan:
    recipe = picked.recipe
    project = read_project(read, READERS)
    found = recipe_requirements(recipe, project, read)
    editable = recipe.install == "editable"
    return EnvironmentPlan(
        repo=repo,
        project=project.name or repo.partition("/")[2],
        version=version,
        rung="recipe",
        recipe=picked.name,
        interpreter=pick(interpreters, recipe.python),
        requirements=found.lines,
        constraints=found.constraints,
        exclude_newer=recipe.exclude_newer.astimezone(UTC),
        editable=editable,
        project_files=project_files(read) if editable else (),
        build_env=tuple(_fill(pair, version) for pair in recipe.build_env),
        generated=tuple(TextFile(path=RepoPath(path), text=_fill(text, version)) for path, text in recipe.generated),
        source_roots=recipe.source_roots,
        runner=recipe.runner,
        test_args=recipe.test_args,
        env=recipe.env,
    )


def recipe_requirements(recipe: Recipe, project: Project, read: Read) -> Requirements:
    """The recipe's packages, then the checkout's requirement files, then the project's own dependencies."""
    packages = Requirements(parse_lines(recipe.packages), recipe.constraints)
    files = Requirements()
    for alternatives in recipe.requirements:
        existing = [path for path in alternatives.split("|") if read(path) is not None]
        files += read_requirements(read, existing[0]) if existing else Requirements()
    own = project.requirements(*recipe.extras) if recipe.own else Requirements()
    return packages + files.without(packages.names | set(recipe.drop)) + own.without(recipe.drop)


def _fill(text: str, version: str | None) -> str:
    return text.replace("{version}", version or "0")


def project_files(read: Read) -> tuple[TextFile, ...]:
    """The files that decide the checkout's metadata."""
    texts = ((path, read(path)) for path in PROJECT_FILES)
    return tuple(TextFile(path=RepoPath(path), text=text) for path, text in texts if text is not None)


def _inferred(
    repo: RepoName, version: str | None, read: Read, interpreters: tuple[Interpreter, ...], committed_at: datetime
) -> tuple[EnvironmentPlan, ...]:
    project, proposals = infer(read)
    interpreter = choose_python(project, committed_at, interpreters)
    if interpreter is None:
        message = f"{repo}: no CPython here fits {project.requires_python!r} of {committed_at:%Y-%m-%d}"
        raise NotFound(message, hint="install an older CPython with pyenv or uv, or write a recipe")
    files = project_files(read)
    told = version or latest_version(read) or NO_VERSION
    plan = EnvironmentPlan(
        repo=repo,
        project=project.name,
        version=version,
        rung="",
        recipe="inferred",
        interpreter=interpreter,
        requirements=(),
        exclude_newer=committed_at.astimezone(UTC),
        editable=bool(files),
        project_files=files,
        build_env=tuple(f"{name}={told}" for name in PRETEND) if files else (),
        generated=tuple(TextFile(path=RepoPath(path), text=text) for path, text in version_files(read, told)),
        source_roots=source_roots(project, read),
        runner=test_runner(read),
    )
    needed = project.requirements().names | {"pytest"}
    return tuple(_propose(plan, proposal, needed) for proposal in proposals)


def _propose(plan: EnvironmentPlan, proposal: Proposal, needed: frozenset[str]) -> EnvironmentPlan:
    found = proposal.requirements
    return replace(
        plan,
        rung=proposal.rung,
        requirements=found.lines,
        constraints=found.constraints,
        spare=found.names - needed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """How the ladder went."""

    built: BuiltEnvironment | None
    """Null where no rung could be built."""
    attempts: tuple[EnvironmentAttempt, ...]


def climb(
    instance: TaskInstance, plans: Iterable[EnvironmentPlan], build: Callable[[EnvironmentPlan], BuiltEnvironment]
) -> Climb:
    """Build the first plan that can be. A rung that fails is recorded; an `InfrastructureError` ends the climb.

    Where a spare package is what does not build, the same rung is tried again without it.
    """
    attempts: list[EnvironmentAttempt] = []
    waiting = list(plans)
    while waiting:
        plan = waiting.pop(0)
        started = time.monotonic()
        try:
            built = build(plan)
        except BuildFailed as error:
            attempts.append(_attempt(instance, plan.rung, None, error, time.monotonic() - started))
            waiting[:0] = _spared(plan, error)
            continue
        attempts.append(_attempt(instance, plan.rung, built.environment.env_id, None, time.monotonic() - started))
        return Climb(built=built, attempts=tuple(attempts))
    return Climb(built=None, attempts=tuple(attempts))


def _spared(plan: EnvironmentPlan, error: BuildFailed) -> list[EnvironmentPlan]:
    """The plan without the spare packages that did not build; nothing where none of those is to blame."""
    blamed = error.packages if isinstance(error, PackageFailed) else frozenset()
    gone = plan.spare & {normal(name) for name in blamed}
    if not gone:
        return []
    kept = tuple(line for line in plan.requirements if name_of(line) not in gone)
    rung = f"{plan.rung}, without {', '.join(sorted(gone))}"
    return [replace(plan, rung=rung, requirements=kept, spare=plan.spare - gone)]


def already(instance: TaskInstance, built: BuiltEnvironment, rung: str) -> Climb:
    """The climb to an environment that nobody has to build."""
    return Climb(built=built, attempts=(_attempt(instance, rung, built.environment.env_id, None, 0.0),))


def _attempt(
    instance: TaskInstance, rung: str, env_id: EnvId | None, error: SwtError | None, seconds: float
) -> EnvironmentAttempt:
    return EnvironmentAttempt(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        rung=rung,
        env_id=env_id,
        error=str(error or ""),
        seconds=round(seconds, 3),
        tried_at=datetime.now(UTC),
    )
