"""Which paths of a repository are its tests: the rule of the house, and what the repository does otherwise."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tasks.adapters.patch.split import is_test_path
from tasks.domain.collect import Repository


def is_test(path: str, repository: Repository) -> bool:
    """By whole path components and base names, unless a glob of the repository says otherwise; `*` crosses folders."""
    if any(fnmatchcase(path, glob) for glob in repository.source_globs):
        return False
    return is_test_path(path) or any(fnmatchcase(path, glob) for glob in repository.test_globs)
