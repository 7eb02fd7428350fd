"""Adjusts plans of unusable environments: each function turns a plan and its problem into another plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tasks.adapters.uv.plan import EnvironmentPlan, Interpreter
from tasks.domain.environment import Cause
from tasks.environment.project_files.project import Project
from tasks.environment.project_files.pythons import allows
from tasks.environment.project_files.requirements import name_of, normal, parse_lines
from tasks.environment.readiness.build_problems import BuildProblem, missing_modules
from tasks.environment.readiness.plugins import KNOWN, distribution_of, plugin_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The data available for adjusting a plan."""

    project: Project
    interpreters: tuple[Interpreter, ...]

    @property
    def declared(self) -> Mapping[str, str]:
        """{normalised name: first requirement line in any extra or group}, without the project itself"""
        tables = (*self.project.extras.values(), *self.project.groups.values(), self.project.test_requires)
        lines = parse_lines(line for table in (self.project.dependencies, *tables) for line in table)
        own = normal(self.project.name)
        return {name: line for line in reversed(lines) if (name := name_of(line)) != own}


Mend = Callable[[EnvironmentPlan, BuildProblem, BuildOptions], EnvironmentPlan | None]
"""Returns None if the adjustment does not apply."""


def add_modules(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:
    """Adds the distributions of missing modules."""
    if trouble.cause is not Cause.MISSING_MODULE:
        return None
    return _with(plan, (distribution_of(name) for name in trouble.names), means)


def add_what_skips_want(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:
    """Adds distributions whose absence makes tests skip."""
    return _with(plan, trouble.names, means) if trouble.cause is Cause.SKIPS else None


def add_plugins(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:
    """Adds the pytest plugins that define a missing option or fixture."""
    if trouble.cause is not Cause.MISSING_PLUGIN:
        return None
    return _with(plan, filter(None, map(plugin_of, trouble.names)), means)


def other_python(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:
    """Selects the nearest Python that supports a feature which the current one removed or does not have yet."""
    if trouble.cause is not Cause.PYTHON:
        return None
    (bound,) = trouble.names
    fit = [one for one in means.interpreters if allows(bound, one)]
    fit = [one for one in fit if one.minor != plan.interpreter.minor and allows(means.project.requires_python, one)]
    if not fit:
        return None
    chosen = (max if bound[0] == "<" else min)(fit, key=lambda one: one.number)
    return replace(plan, interpreter=chosen, rung=f"{plan.rung}, Python {chosen.minor}")


def without_spare(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:  # noqa: ARG001
    """Removes packages that only tests require and that do not build here."""
    gone = plan.spare & {normal(name) for name in trouble.names} if trouble.cause is Cause.BUILD else frozenset()
    if not gone:
        return None
    kept = tuple(line for line in plan.requirements if name_of(line) not in gone)
    rung = f"{plan.rung}, without {', '.join(sorted(gone))}"
    return replace(plan, rung=rung, requirements=kept, spare=plan.spare - gone)


def give_builds_what_they_need(
    plan: EnvironmentPlan,
    trouble: BuildProblem,
    means: BuildOptions,  # noqa: ARG001
) -> EnvironmentPlan | None:
    """Adds modules that a build imports but does not declare to its isolated environment."""
    missing = [name for name in missing_modules(trouble.detail) if trouble.cause is Cause.BUILD and trouble.names]
    pairs = [(normal(package), distribution_of(name)) for package in trouble.names for name in missing]
    new = [pair for pair in dict.fromkeys(pairs) if pair not in plan.building.requires]
    if not new:
        return None
    building = replace(plan.building, requires=(*plan.building.requires, *new))
    listed = ", ".join(dict.fromkeys(name for _, name in new))
    return replace(plan, rung=f"{plan.rung}, {listed} for builds", building=building)


BUILT_WITH: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"use_2to3 is invalid"), "setuptools<58"),
    (re.compile(r"Multiple top-level (?:packages|modules) discovered"), "setuptools<61"),
    (re.compile(r"No module named '(?:setuptools\._vendor|distutils\.\w*msvccompiler)"), "setuptools<65"),
    (re.compile(r"InvalidVersion|Invalid version|invalid requirement in setup|must be a dictionary"), "setuptools<66"),
    (re.compile(r"No module named 'numpy\.distutils"), "setuptools<60"),
    (re.compile(r"dash-separated|Invalid dash"), "setuptools<78"),
    (re.compile(r"No module named 'pkg_resources'"), "setuptools<81"),
    (re.compile(r"cython_sources|Cython\.Compiler\.Errors|noexcept"), "cython<3"),
)
"""Build errors caused by the newest tools at the date, and the bound under which the package builds."""


def build_with_older_tools(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:  # noqa: ARG001
    """Bounds setuptools and similar tools to the versions for which the package was written."""
    wanted = [bound for sign, bound in BUILT_WITH if trouble.cause is Cause.BUILD and sign.search(trouble.detail)]
    new = [bound for bound in wanted[:1] if bound not in plan.building.constraints]
    if not new:
        return None
    building = replace(plan.building, constraints=(*plan.building.constraints, *new))
    return replace(plan, rung=f"{plan.rung}, built with {new[0]}", building=building)


def without_metadata(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:  # noqa: ARG001
    """Omits the checkout's metadata if it does not build: the path alone is enough for most tests."""
    if trouble.cause is not Cause.BUILD or not plan.editable or not trouble.detail.startswith(METADATA_FAILED):
        return None
    return replace(plan, rung=f"{plan.rung}, without metadata", editable=False, project_files=(), build_env=())


METADATA_FAILED = "uv build failed"


def take_wheels(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:  # noqa: ARG001
    """Restricts packages that do not build to versions with a wheel."""
    blamed = {normal(name) for name in trouble.names} if trouble.cause is Cause.BUILD else set()
    new = tuple(sorted(blamed - set(plan.building.wheels_only)))
    if not new:
        return None
    building = replace(plan.building, wheels_only=(*plan.building.wheels_only, *new))
    return replace(plan, rung=f"{plan.rung}, {', '.join(new)} as a wheel", building=building)


def set_variables(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:  # noqa: ARG001
    """Sets variables to temporary folders for tests that expect them from the project's own script."""
    have = {pair.partition("=")[0] for pair in plan.env}
    new = [name for name in trouble.names if trouble.cause is Cause.VARIABLE and name not in have]
    if not new:
        return None
    pairs = tuple(f"{name}=/tmp/{name.lower()}" for name in new)
    return replace(plan, rung=f"{plan.rung}, with {', '.join(new)}", env=(*plan.env, *pairs))


MENDS: tuple[Mend, ...] = (
    add_modules,
    add_what_skips_want,
    add_plugins,
    set_variables,
    other_python,
    without_spare,
    build_with_older_tools,
    give_builds_what_they_need,
    without_metadata,
    take_wheels,
)
"""The adjustments in order; the first that applies is used."""


def mend(plan: EnvironmentPlan, trouble: BuildProblem, means: BuildOptions) -> EnvironmentPlan | None:
    """Returns the next plan to try; None if no adjustment applies."""
    return next((found for way in MENDS if (found := way(plan, trouble, means)) is not None), None)


def _with(plan: EnvironmentPlan, wanted: Iterable[str], means: BuildOptions) -> EnvironmentPlan | None:
    """Adds requirements to a plan.

    A name guessed from a module's name may belong to an unrelated project. Such a distribution is installed only as a
    wheel, so that its build code never runs.
    """
    have = {name_of(line) for line in plan.requirements} | {normal(plan.project)}
    missing = [name for name in dict.fromkeys(map(normal, wanted)) if name not in have]
    if not missing:
        return None
    lines = tuple(means.declared.get(name, name) for name in missing)
    guessed = tuple(name for name in missing if name not in means.declared and name not in KNOWN)
    building = replace(plan.building, wheels_only=(*plan.building.wheels_only, *guessed))
    return replace(
        plan,
        building=building,
        rung=f"{plan.rung}, with {', '.join(missing)}",
        requirements=(*plan.requirements, *lines),
        spare=plan.spare | frozenset(missing),
    )
