"""Builds the extension modules of an instance: one build for each code state that needs its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tasks.adapters.extensions.build import Workplace, build_once
from tasks.adapters.extensions.products import products_key, products_of
from tasks.adapters.extensions.sources import build_patches
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import apply_patch
from tasks.adapters.patch.model import Refused
from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.uv.builder import machine_builder
from tasks.adapters.uv.plan import Beside, BuiltEnvironment, ExtensionSteps
from tasks.domain.environment import Environment, ExtensionBuild
from tasks.domain.errors import BuildFailed
from tasks.domain.instance import TaskInstance
from tasks.domain.outcome import CodeState
from tasks.domain.places import Places


def with_extensions(
    places: Places, sandbox: Sandbox, instance: TaskInstance, steps: ExtensionSteps, built: BuiltEnvironment
) -> BuiltEnvironment:
    """Returns `built` with the extension modules for checkouts of the base commit; also builds those of the fixed code.

    Both share one build if the golden patch changes no input of the build. Raises the errors of `build_once`.
    """
    tools = machine_builder(places.cache, sandbox, places.scratch).build_tools(steps)
    place = Workplace(cache=places.cache, scratch=places.scratch, sandbox=sandbox)
    made = []
    for patches in _states(instance).values():
        key = products_key(built.environment, instance.base_commit, patches)
        fill = partial(_fill, places, instance, build_patches(patches), steps.beside)
        made.append(build_once(place, key, steps, tools, fill))
    return replace(built, extensions=made[0])


def _states(instance: TaskInstance) -> dict[CodeState, tuple[str, ...]]:
    return {CodeState.BEFORE: (), CodeState.AFTER: (instance.patch,)}


def _fill(
    places: Places, instance: TaskInstance, patches: Iterable[str], beside: Iterable[Beside], checkout: Path
) -> None:
    """Prepares one code state for a build: the base commit, the repositories beside it, and relevant golden patches."""
    mirrors = Mirrors(places.mirrors)
    trees = Trees(mirrors, places.trees)
    trees.checkout(instance.repo, instance.base_commit, checkout)
    for one in beside:
        commit = one.commit or mirrors.submodule(instance.repo, instance.base_commit, one.path)
        if commit:
            trees.checkout(one.repo, commit, checkout / one.path)
    for patch in patches:
        applied = apply_patch(checkout, patch)
        if isinstance(applied, Refused):
            raise BuildFailed(f"the golden patch does not apply: {applied.detail}", hint="the instance is broken")


def extension_builds(places: Places, instance: TaskInstance, environment: Environment) -> tuple[ExtensionBuild, ...]:
    """Returns a row for each code state. Raises `InfrastructureError` if the files of a build are missing."""
    rows = []
    for state, patches in _states(instance).items():
        products = products_of(places.cache, environment, instance.base_commit, patches)
        rows.append(
            ExtensionBuild(
                extension_key=products_key(environment, instance.base_commit, patches),
                instance_key=instance.instance_key,
                instance_id=instance.instance_id,
                env_id=environment.env_id,
                code_state=state,
                tools=products.tools,
                files=len(products.paths),
                size=products.size,
                cpu_s=products.cpu_s,
                wall_s=products.wall_s,
                toolchain=products.toolchain,
            )
        )
    return tuple(rows)
