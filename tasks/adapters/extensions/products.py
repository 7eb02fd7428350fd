"""What builds left behind: found by key, laid into a checkout."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks.adapters.extensions.sources import build_patches
from tasks.adapters.extensions.toolchain import toolchain
from tasks.domain.environment import Environment
from tasks.domain.errors import InfrastructureError
from tasks.domain.names import EnvId, RepoPath, content_key

FOLDER = "extensions"
STEP = "extensions:"
"""How the step of `Environment.install` begins that says: every checkout needs modules of its own. What follows is a
content key of how they are built, a colon, and the libraries of the system that they are linked against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """Files that the build of one code state added to its checkout."""

    archive: Path
    """A tar file, paths relative to the checkout."""
    paths: tuple[RepoPath, ...]
    tools: EnvId
    """The environment that they were built in."""
    size: int
    """Bytes of the files together."""
    cpu_s: float
    """User plus system seconds of the build."""
    wall_s: float
    toolchain: str
    log: str
    """The end of what the build said."""

    @property
    def key(self) -> str:
        """What they are found by."""
        return self.archive.stem


def needs_extensions(environment: Environment) -> bool:
    """Whether checkouts of this environment's repository have modules that a compiler makes."""
    return any(step.startswith(STEP) for step in environment.install)


def products_key(environment: Environment, base_commit: str, patches: Iterable[str]) -> str:
    """Content key of all that decides what a build leaves: `patches` are all that are applied to the code.

    The tools, the commands and their settings are part of the environment's step.
    """
    step = next(step for step in environment.install if step.startswith(STEP))
    way, _, libraries = step.removeprefix(STEP).partition(":")
    system = toolchain(tuple(filter(None, libraries.split(","))))
    return content_key(FOLDER, way, base_commit, build_patches(patches), system)


def find(cache: Path, key: str) -> Products | None:
    """What the build under `key` left; null where there was none, or what it left is damaged."""
    try:
        known: dict[str, Any] = json.loads(_facts_path(cache, key).read_text(encoding="utf-8"))
        found = Products(archive=archive_path(cache, key), **(known | {"paths": tuple(known["paths"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.archive.is_file() else None


def products_for(cache: Path, environment: Environment, base_commit: str, patches: Iterable[str]) -> Products | None:
    """What has to be laid into a checkout; null where nothing has. `InfrastructureError` where it is not built."""
    return products_of(cache, environment, base_commit, patches) if needs_extensions(environment) else None


def products_of(cache: Path, environment: Environment, base_commit: str, patches: Iterable[str]) -> Products:
    """What the build of a code state left; `InfrastructureError` where it is not there."""
    found = find(cache, products_key(environment, base_commit, patches))
    if found is None:
        message = f"the extension modules of {environment.repo}@{base_commit[:10]} are not built on this machine"
        raise InfrastructureError(message, hint="evaluate again: it builds them before it runs tests")
    return found


def archive_path(cache: Path, key: str) -> Path:
    """Where the files of a build are or would be."""
    return cache.absolute() / FOLDER / f"{key}.tar"


def keep(cache: Path, key: str, products: Products) -> None:
    """Write down what a build left, after its archive is there: only then is it found."""
    facts = {name: value for name, value in asdict(products).items() if name != "archive"}
    path = _facts_path(cache, key)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    part.replace(path)


def _facts_path(cache: Path, key: str) -> Path:
    return archive_path(cache, key).with_suffix(".json")
