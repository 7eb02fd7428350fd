"""The list of repositories that are collected from: `data/repositories.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.adapters.files import regular_file
from tasks.domain.collect import Repository
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.names import repo_name

_REQUIRED = ("licence", "default_branch")
_GLOBS = ("test_globs", "source_globs")


def read_repositories(path: Path) -> tuple[Repository, ...]:
    """Every table of the file, in its order. `BadInput` names the table and the key that is wrong."""
    try:
        text = regular_file(path, hint="start from data/repositories.toml").read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name}: {error}", hint="the file is TOML, one table for each repository") from error
    found = tuple(_repository(name, table, path) for name, table in tables.items())
    seen: dict[str, str] = {}
    for repository in found:
        if (other := seen.setdefault(repository.repo.lower(), repository.repo)) != repository.repo:
            raise BadInput(f"{path.name}: {other} and {repository.repo} are the same repository to GitHub")
    return found


def find_repository(repositories: tuple[Repository, ...], repo: str) -> Repository:
    """The repository with this name, in any case; `NotFound` where the list lacks it."""
    for repository in repositories:
        if repository.repo.lower() == repo.lower():
            return repository
    raise NotFound(f"{repo} is not in the list of repositories", hint="add it to data/repositories.toml")


def _repository(name: str, table: Any, path: Path) -> Repository:
    where = f"{path.name}, {name!r}"
    try:
        repo = repo_name(name)
    except BadInput as error:
        raise BadInput(f"{where} is not owner/name", hint='a table is headed ["owner/name"]') from error
    if not isinstance(table, dict):
        raise BadInput(f"{where} is not a table", hint=f'["{name}"] on a line of its own, its keys below')
    if unknown := sorted(set(table) - {*_REQUIRED, *_GLOBS}):
        raise BadInput(
            f"{where} has unknown keys: {', '.join(unknown)}", hint=f"known: {', '.join((*_REQUIRED, *_GLOBS))}"
        )
    return Repository(
        repo=repo,
        licence=_text(table, "licence", where),
        default_branch=_text(table, "default_branch", where),
        test_globs=_globs(table, "test_globs", where),
        source_globs=_globs(table, "source_globs", where),
    )


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{where}: {key} is missing or not a text")
    return value


def _globs(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(glob, str) and glob for glob in value):
        raise BadInput(f"{where}: {key} is not a list of globs")
    return tuple(value)
