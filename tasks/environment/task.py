"""Environment: an instance's base commit becomes a built, locked environment.

Reads `task_instance`; writes `environment` and `environment_attempt`.
"""

from __future__ import annotations

import os
from functools import lru_cache, partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.warehouse import Store
from tasks.adapters.uv.builder import Builder
from tasks.adapters.uv.host import host_environment
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment, EnvironmentPlan
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId
from tasks.domain.places import Places
from tasks.environment.recipes import Recipe, load_recipes
from tasks.environment.resolve import Books, Climb, already, climb, plan_ladder, resolve


def prepare_environment(places: Places, snapshot: str, instance_id: str) -> EnvId | None:
    """The environment of one instance, built unless it is there; null where no rung of the ladder could be built.

    Raises `InfrastructureError` where trying again may help, `NotFound` where the mirror or its commit is missing.
    """
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=snapshot, instance_id=instance_id)
    climbed = climb_for(places, instance)
    record(store, instance, climbed)
    return climbed.built.environment.env_id if climbed.built else None


def climb_for(places: Places, instance: TaskInstance) -> Climb:
    """Find or build the environment of one instance; writes nothing to the store. Raises as `prepare_environment`."""
    mirrors = Mirrors(places.mirrors)
    committed_at = mirrors.committed_at(instance.repo, instance.base_commit)
    read = partial(_read_text, mirrors, instance)
    resolved = resolve(instance, read, books(places.recipes))
    if resolved.picked and resolved.picked.recipe.install == "host":
        return already(instance, _on_this_interpreter(instance, resolved.picked.recipe), "host")
    plans = plan_ladder(resolved, read, machine_interpreters(), committed_at)
    return climb(instance, plans, partial(_build, places, instance))


def _on_this_interpreter(instance: TaskInstance, recipe: Recipe) -> BuiltEnvironment:
    return host_environment(
        instance.repo,
        source_roots=recipe.source_roots,
        runner=recipe.runner,
        test_args=recipe.test_args,
        env=recipe.env,
    )


def _read_text(mirrors: Mirrors, instance: TaskInstance, path: str) -> str | None:
    data = mirrors.read_file(instance.repo, instance.base_commit, path)
    return None if data is None else data.decode("utf-8", "replace")


def _build(places: Places, instance: TaskInstance, plan: EnvironmentPlan) -> BuiltEnvironment:
    with spare_folder(places.scratch) as folder:
        return builder(places.cache).build(plan, partial(_checkout, places, instance, folder / "checkout"))


def _checkout(places: Places, instance: TaskInstance, into: Path) -> Path:
    Trees(Mirrors(places.mirrors), places.trees).checkout(instance.repo, instance.base_commit, into)
    return into


def record(store: Store, instance: TaskInstance, climbed: Climb) -> None:
    """Write what is new: an environment that the store does not know, and attempts that ended differently."""
    built = climbed.built
    if built and not store.read(Environment, env_id=built.environment.env_id):
        store.write([built.environment], key=built.environment.env_id)
    known = store.read(EnvironmentAttempt, instance_key=instance.instance_key)
    before = {(attempt.rung, attempt.env_id) for attempt in known}
    fresh = [attempt for attempt in climbed.attempts if (attempt.rung, attempt.env_id) not in before]
    store.write(fresh)


@lru_cache(maxsize=4)
def books(folder: Path) -> Books:
    """The recipes, read once per process."""
    return load_recipes(folder)


@lru_cache(maxsize=4)
def builder(cache: Path) -> Builder:
    return Builder(cache=cache, environ=dict(os.environ))
