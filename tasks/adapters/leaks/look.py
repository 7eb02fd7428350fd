"""One look at an instance: a checkout as methods get it, made for the purpose, and the environment beside it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tasks.adapters.git.command import Git
from tasks.adapters.git.histories import Histories
from tasks.adapters.git.leaks import Checkout
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.leaks.audit import Audited, audit, fixed_blobs
from tasks.adapters.runner.launch import complete
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.host_environment import RECIPE
from tasks.adapters.uv.leaks import Surroundings
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.instance import TaskInstance
from tasks.domain.places import Places


def look_for_leaks(places: Places, instance: TaskInstance, built: BuiltEnvironment) -> Audited:
    """Look through checkout and environment, and store what was found.

    `NotFound` where the mirror or the base commit is missing, `GitFailed` where the checkout cannot be read.
    """
    with spare_folder(places.scratch) as folder:
        audited = _audit(places, instance, built, folder / "checkout")
    store = Store(places.store)
    store.write(audited.leaks)
    store.write([audited.audit])
    return audited


def _audit(places: Places, instance: TaskInstance, built: BuiltEnvironment, folder: Path) -> Audited:
    mirrors = Mirrors(places.mirrors)
    Histories(Trees(mirrors, places.trees)).checkout(instance.repo, instance.base_commit, folder)
    complete(folder, built)
    checkout = Checkout(
        folder,
        mirrors.commit(instance.repo, instance.base_commit),
        Git(places.mirrors),
        generated=built.made,
        fixed=fixed_blobs(instance, partial(mirrors.read_file, instance.repo, instance.base_commit)),
    )
    return audit(instance, built.environment.env_id, checkout, _surroundings(instance, built, folder))


def _surroundings(instance: TaskInstance, built: BuiltEnvironment, checkout: Path) -> Surroundings:
    """What is installed. The host's own environment is the demo's: it holds this project, and is not looked through."""
    nothing = checkout.parent / "nothing"
    host = built.environment.recipe == RECIPE
    return Surroundings(
        root=nothing if host else built.root,
        base_prefix=nothing if host else built.interpreter.base_prefix,
        checkout=checkout,
        source_roots=built.environment.source_roots,
        project=instance.repo.rpartition("/")[2],
    )
