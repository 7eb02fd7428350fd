"""Turns an instance into environment plans, builds them in order until one works, and records every attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tasks.adapters.uv.interpreters import pick
from tasks.adapters.uv.plan import BuiltEnvironment, EnvironmentPlan, ExtensionSteps, Interpreter, TextFile
from tasks.adapters.uv.process import PackageFailed
from tasks.domain.environment import Cause, EnvironmentAttempt
from tasks.domain.errors import BuildFailed, NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, RepoName, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.environment.inference import INFERRED, READERS, RungResult, infer, source_roots, suite_command
from tasks.environment.plan_adjustments import BuildOptions, mend
from tasks.environment.project_files.project import PROJECT_FILES, Project, read_project
from tasks.environment.project_files.pythons import choose_python
from tasks.environment.project_files.requirements import Read, Requirements, parse_lines, read_requirements
from tasks.environment.project_files.version_files import NO_VERSION, latest_version, version_files
from tasks.environment.project_files.versions import derive_version
from tasks.environment.readiness.build_problems import BuildProblem
from tasks.environment.recipes import Picked, Recipe, RecipeBook, ServiceRecipe, assignments

Books = Mapping[RepoName, RecipeBook]

PRETEND = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS")
"""Variables that set the version of a build without git tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The version and recipe of an instance, before planning."""

    repo: RepoName
    version: str | None
    """The version in the dataset row, else derived from the checkout's files by the rules of its recipe file."""
    picked: Picked | None
    """None if no recipe covers the version; the environment is then inferred."""


def resolve(instance: TaskInstance, read: Read, books: Books) -> Resolved:
    """Finds an instance's version and recipe; `read` returns files of the base commit."""
    book = books.get(instance.repo)
    if book is None:
        return Resolved(repo=instance.repo, version=instance.version, picked=None)
    version = instance.version or derive_version(read, book.version_rules)
    return Resolved(repo=instance.repo, version=version, picked=book.pick(version))


def plan_ladder(
    resolved: Resolved, read: Read, interpreters: tuple[Interpreter, ...], committed_at: datetime
) -> Iterator[EnvironmentPlan]:
    """Yields plans for an instance in order: its recipe, then one per inference step.

    A recipe with compiled parts is the only plan. `read` returns files of the base commit; `committed_at` is the
    committer date of that commit (UTC). The generator reads files only for plans that are consumed. Raises `NotFound`
    if this machine has no suitable interpreter.
    """
    if resolved.picked:
        plan = _from_recipe(resolved.repo, resolved.version, resolved.picked, read, interpreters)
        yield plan
        if plan.extensions:
            return  # inferred plans cannot build extension modules
    yield from _inferred(resolved.repo, resolved.version, read, interpreters, committed_at)


def _from_recipe(
    repo: RepoName, version: str | None, picked: Picked, read: Read, interpreters: tuple[Interpreter, ...]
) -> EnvironmentPlan:
    recipe = picked.recipe
    project = read_project(read, READERS)
    found = recipe_requirements(recipe, project, read)
    editable = recipe.install == "editable"
    interpreter = pick(interpreters, recipe.python)
    return EnvironmentPlan(
        repo=repo,
        project=project.name or repo.partition("/")[2],
        version=version,
        rung="recipe",
        recipe=picked.name,
        interpreter=interpreter,
        requirements=found.lines,
        constraints=found.constraints,
        exclude_newer=recipe.exclude_newer.astimezone(UTC),
        editable=editable,
        project_files=project_files(read) if editable else (),
        build_env=tuple(_fill(pair, version) for pair in assignments(recipe.build_env)),
        generated=_texts(recipe.generated, version),
        source_roots=recipe.source_roots or source_roots(project, read),
        runner=recipe.runner,
        test_args=recipe.test_args,
        env=assignments(recipe.env),
        services=recipe.services,
        extensions=_extensions(repo, version, picked, interpreter) if recipe.install == "build" else None,
    )


def service_plan(name: str, recipe: ServiceRecipe, interpreters: tuple[Interpreter, ...]) -> EnvironmentPlan:
    """Returns the plan of a service's environment. Its start command is stored in `test_args`."""
    return EnvironmentPlan(
        repo=RepoName(f"services/{name}"),
        version=None,
        rung="service",
        recipe=f"services/{name}.toml",
        interpreter=pick(interpreters, recipe.python),
        requirements=recipe.packages,
        exclude_newer=recipe.exclude_newer.astimezone(UTC),
        editable=False,
        source_roots=(),
        runner=RunnerKind.PYTEST,
        test_args=recipe.command,
        env=assignments(recipe.env),
    )


def _extensions(repo: RepoName, version: str | None, picked: Picked, interpreter: Interpreter) -> ExtensionSteps:
    """Returns the steps of a recipe's build commands, with a separate environment that lacks the project."""
    recipe = picked.recipe
    tools = EnvironmentPlan(
        repo=repo,
        version=version,
        rung="tools",
        recipe=f"{picked.name} (tools)",
        interpreter=interpreter,
        requirements=tuple(str(line) for line in parse_lines(recipe.build_requires)),
        exclude_newer=recipe.exclude_newer.astimezone(UTC),
        editable=False,
        source_roots=(),
        runner=recipe.runner,
    )
    return ExtensionSteps(
        tools=tools,
        commands=recipe.build_commands,
        env=tuple(_fill(pair, version) for pair in assignments(recipe.build_env)),
        files=_texts(recipe.build_files, version),
        beside=recipe.beside,
        libraries=recipe.build_libraries,
    )


def _texts(files: Mapping[str, str], version: str | None) -> tuple[TextFile, ...]:
    return tuple(TextFile(path=RepoPath(path), text=_fill(text, version)) for path, text in sorted(files.items()))


def recipe_requirements(recipe: Recipe, project: Project, read: Read) -> Requirements:
    """Returns the recipe's packages, then the checkout's requirement files, then the project's own dependencies."""
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
    """Returns the files that determine the checkout's metadata."""
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
    command = suite_command(read, frozenset(name for one in proposals for name in one.requirements.names))
    plan = EnvironmentPlan(
        repo=repo,
        project=project.name,
        version=version,
        rung="",
        recipe=INFERRED,
        interpreter=interpreter,
        requirements=(),
        exclude_newer=committed_at.astimezone(UTC),
        editable=bool(files),
        project_files=files,
        build_env=tuple(f"{name}={told}" for name in PRETEND) if files else (),
        generated=tuple(TextFile(path=RepoPath(path), text=text) for path, text in version_files(read, told)),
        source_roots=source_roots(project, read),
        runner=command.runner,
        test_args=command.args,
    )
    needed = project.requirements().names | {"pytest"}
    return tuple(_propose(plan, proposal, needed) for proposal in proposals)


def _propose(plan: EnvironmentPlan, proposal: RungResult, needed: frozenset[str]) -> EnvironmentPlan:
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
    """The result of trying an instance's plans."""

    built: BuiltEnvironment | None
    """None if no plan is ready."""
    attempts: tuple[EnvironmentAttempt, ...]


MENDED = 6
"""Maximum number of adjustments of one plan."""
TRIED = 16
"""Maximum number of environments tried for one instance."""


@dataclass(slots=True)
class _Climber:
    """The state while the plans of an instance are tried."""

    instance: TaskInstance
    build: Callable[[EnvironmentPlan], BuiltEnvironment]
    check: Callable[[BuiltEnvironment], BuildProblem | None]
    means: BuildOptions
    attempts: list[EnvironmentAttempt] = field(default_factory=list)
    tried: set[EnvironmentPlan] = field(default_factory=set)
    usable: tuple[EnvironmentPlan, BuiltEnvironment] | None = None
    """The last environment that can be used although something is missing."""

    def rung(self, plan: EnvironmentPlan) -> BuiltEnvironment | BuildProblem:
        """Returns the environment of one plan, adjusted as long as an adjustment applies.

        Otherwise it returns the last usable environment, or the remaining problem.
        """
        found = self._try(plan)
        for _ in range(MENDED):
            if isinstance(found, BuiltEnvironment):
                return found
            mended = mend(plan, found, self.means)
            if mended is None or self.is_over or replace(mended, rung="") in self.tried:
                break
            plan, found = mended, self._try(mended)
        if isinstance(found, BuildProblem) and self.usable:
            plan, found = self.usable
            self.attempts.append(_attempt(self.instance, plan.rung, found.environment.env_id, None, 0.0))
        return found

    @property
    def is_over(self) -> bool:
        return len(self.attempts) >= TRIED

    def _try(self, plan: EnvironmentPlan) -> BuiltEnvironment | BuildProblem:
        self.tried.add(replace(plan, rung=""))
        started = time.monotonic()
        built, trouble = self._build_and_check(plan)
        seconds = time.monotonic() - started
        env_id = built.environment.env_id if built and not trouble else None
        self.attempts.append(_attempt(self.instance, plan.rung, env_id, trouble, seconds))
        if trouble is None and built is not None:
            return built
        if trouble and trouble.is_bearable and built:
            self.usable = plan, built
        assert trouble is not None
        return trouble

    def _build_and_check(self, plan: EnvironmentPlan) -> tuple[BuiltEnvironment | None, BuildProblem | None]:
        try:
            built = self.build(plan)
        except BuildFailed as error:
            packages = error.packages if isinstance(error, PackageFailed) else frozenset()
            return None, BuildProblem(Cause.BUILD, tuple(sorted(packages)), str(error))
        return built, self.check(built)


def climb(
    instance: TaskInstance,
    plans: Iterable[EnvironmentPlan],
    build: Callable[[EnvironmentPlan], BuiltEnvironment],
    check: Callable[[BuiltEnvironment], BuildProblem | None],
    means: BuildOptions,
) -> Climb:
    """Builds plans in order until one builds and passes `check`; records every attempt.

    If two plans end with the same error, it tries no further one, because the cause is in the instance. An
    `InfrastructureError` ends the loop.
    """
    climber = _Climber(instance, build, check, means)
    said: set[tuple[Cause, str]] = set()
    for plan in plans:
        if climber.is_over:
            break
        if replace(plan, rung="") in climber.tried:
            continue
        found = climber.rung(plan)
        if isinstance(found, BuiltEnvironment):
            return Climb(built=found, attempts=tuple(climber.attempts))
        words = (found.cause, found.summary)
        if found.cause is not Cause.BUILD and words in said:
            break
        said.add(words)
    return Climb(built=None, attempts=tuple(climber.attempts))


def already(instance: TaskInstance, built: BuiltEnvironment, rung: str) -> Climb:
    """Returns the result for an environment that needs no build."""
    return Climb(built=built, attempts=(_attempt(instance, rung, built.environment.env_id, None, 0.0),))


def _attempt(
    instance: TaskInstance, rung: str, env_id: EnvId | None, trouble: BuildProblem | None, seconds: float
) -> EnvironmentAttempt:
    return EnvironmentAttempt(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        rung=rung,
        env_id=env_id,
        cause=str(trouble.cause) if trouble else "",
        error=f"{trouble.summary}\n{trouble.detail}" if trouble else "",
        seconds=round(seconds, 3),
        tried_at=datetime.now(UTC),
    )
