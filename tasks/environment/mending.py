"""What to try next where an environment is of no use: each way takes a plan and its trouble and gives another plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tasks.adapters.uv.plan import EnvironmentPlan, Interpreter
from tasks.domain.environment import Cause
from tasks.environment.plugins import distribution_of, plugin_of
from tasks.environment.project import Project
from tasks.environment.pythons import allows
from tasks.environment.requirements import name_of, normal, parse_lines
from tasks.environment.trouble import Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What there is to mend with."""

    project: Project
    interpreters: tuple[Interpreter, ...]

    @property
    def declared(self) -> Mapping[str, str]:
        """Normal name → the first line in which the project asks for it, in any extra or group."""
        tables = (*self.project.extras.values(), *self.project.groups.values(), self.project.test_requires)
        lines = parse_lines(line for table in (self.project.dependencies, *tables) for line in table)
        return {name_of(line): line for line in reversed(lines)}


Mend = Callable[[EnvironmentPlan, Trouble, Means], EnvironmentPlan | None]
"""Null where this way does not apply."""


def add_modules(plan: EnvironmentPlan, trouble: Trouble, means: Means) -> EnvironmentPlan | None:
    """Ask for the distributions of the modules that are missing."""
    if trouble.cause is not Cause.MISSING_MODULE:
        return None
    return _with(plan, (distribution_of(name) for name in trouble.names), means)


def add_plugins(plan: EnvironmentPlan, trouble: Trouble, means: Means) -> EnvironmentPlan | None:
    """Ask for the plugins of pytest that bring an option or a fixture."""
    if trouble.cause is not Cause.MISSING_PLUGIN:
        return None
    return _with(plan, filter(None, map(plugin_of, trouble.names)), means)


def other_python(plan: EnvironmentPlan, trouble: Trouble, means: Means) -> EnvironmentPlan | None:
    """Take the nearest Python that has what the one in use took away, or did not have yet."""
    if trouble.cause is not Cause.PYTHON:
        return None
    (bound,) = trouble.names
    fit = [one for one in means.interpreters if allows(bound, one)]
    fit = [one for one in fit if one.minor != plan.interpreter.minor and allows(means.project.requires_python, one)]
    if not fit:
        return None
    chosen = (max if bound[0] == "<" else min)(fit, key=lambda one: one.number)
    return replace(plan, interpreter=chosen, rung=f"{plan.rung}, Python {chosen.minor}")


def without_spare(plan: EnvironmentPlan, trouble: Trouble, means: Means) -> EnvironmentPlan | None:  # noqa: ARG001
    """Leave out packages that only tests ask for and that do not build here."""
    gone = plan.spare & {normal(name) for name in trouble.names} if trouble.cause is Cause.BUILD else frozenset()
    if not gone:
        return None
    kept = tuple(line for line in plan.requirements if name_of(line) not in gone)
    rung = f"{plan.rung}, without {', '.join(sorted(gone))}"
    return replace(plan, rung=rung, requirements=kept, spare=plan.spare - gone)


MENDS: tuple[Mend, ...] = (add_modules, add_plugins, other_python, without_spare)
"""In the order in which they are asked; the first that applies is taken."""


def mend(plan: EnvironmentPlan, trouble: Trouble, means: Means) -> EnvironmentPlan | None:
    """The next plan to try; null where nothing is left to try."""
    return next((found for way in MENDS if (found := way(plan, trouble, means)) is not None), None)


def _with(plan: EnvironmentPlan, wanted: Iterable[str], means: Means) -> EnvironmentPlan | None:
    have = {name_of(line) for line in plan.requirements} | {normal(plan.project)}
    missing = [name for name in dict.fromkeys(map(normal, wanted)) if name not in have]
    if not missing:
        return None
    lines = tuple(means.declared.get(name, name) for name in missing)
    return replace(
        plan,
        rung=f"{plan.rung}, with {', '.join(missing)}",
        requirements=(*plan.requirements, *lines),
        spare=plan.spare | frozenset(missing),
    )
