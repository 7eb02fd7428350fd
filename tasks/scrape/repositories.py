"""The list of repositories that are collected from: `data/repositories.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Strict

from tasks.adapters.toml_files import Filled, TomlTable, checked, read_toml
from tasks.domain.collect import Repository
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.names import repo_name

Globs = Annotated[tuple[Filled, ...], Strict(False)]


class RepositoryTable(TomlTable):
    """A table of the file, see `Repository`."""

    licence: Filled
    default_branch: Filled
    test_globs: Globs = ()
    source_globs: Globs = ()


def read_repositories(path: Path) -> tuple[Repository, ...]:
    """Every table of the file, in its order. `BadInput` names the table and the key that is wrong."""
    found = tuple(_repository(name, table, path.name) for name, table in read_toml(path).items())
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


def _repository(name: str, table: object, file: str) -> Repository:
    try:
        repo = repo_name(name)
    except BadInput as error:
        raise BadInput(f"{file}, {name!r} is not owner/name", hint='a table is headed ["owner/name"]') from error
    return Repository(repo=repo, **dict(checked(RepositoryTable, table, f"{file}, {name!r}")))
