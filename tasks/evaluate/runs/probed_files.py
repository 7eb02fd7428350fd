"""Selects the files of a checkout that get probes: whole groups, so that tests cannot see which of them change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, pairwise
from posixpath import commonpath, dirname

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.split import is_test_path
from tasks.domain.names import RepoName, Sha
from tasks.domain.run import PathRange, RunSpec

GROUP = 4
"""Minimum number of files in a group. All lines of a group's files that a test loads get probes."""
LAST = "\U0010ffff"
"""Sorts after every path."""


def probe_ranges(starts: tuple[str, ...], near: Iterable[str]) -> tuple[PathRange, ...]:
    """Returns the groups that contain the files `near`. A file that a patch adds belongs to a group by its name."""
    chosen = sorted({bisect_right(starts, path) - 1 for path in near})
    return tuple(PathRange(first=starts[at], end=[*starts, LAST][at + 1]) for at in chosen)


def group_starts(paths: Iterable[str]) -> tuple[str, ...]:
    """Returns the first path of each group of source files.

    The groups depend only on all `paths` of a base commit. So the grouping reveals nothing about the changed files.
    """
    files = sorted(path for path in paths if path.endswith(".py") and not is_test_path(path))
    starts = [part[0] for group in _groups(files) for part in _parts(group)]
    return ("", *starts[1:])


def _groups(files: list[str]) -> list[list[str]]:
    """Groups files by folder, and merges a small folder with the neighbour that shares the longest path.

    A distant folder such as `examples/` would not hide which file is changed.
    """
    groups = [list(run) for _, run in groupby(files, key=dirname)]
    while (
        len(groups) > 1 and (small := next((at for at, one in enumerate(groups) if len(one) < GROUP), None)) is not None
    ):
        pairs = [at for at in (small, small - 1) if 0 <= at < len(groups) - 1]
        left = max(pairs, key=lambda at: len(commonpath((dirname(groups[at][-1]), dirname(groups[at + 1][0])))))
        groups[left : left + 2] = [groups[left] + groups[left + 1]]
    return groups


def _parts(group: list[str]) -> list[list[str]]:
    """Splits a large group into equal parts."""
    parts = max(1, len(group) // GROUP)
    cuts = [number * len(group) // parts for number in range(parts + 1)]
    return [group[first:end] for first, end in pairwise(cuts)]


def probed_by(spec: RunSpec, mirrors: Mirrors) -> tuple[PathRange, ...]:
    """Returns the files that get probes in a run. Raises `NotFound` if the base commit is missing."""
    return probe_ranges(_starts(mirrors, spec.repo, spec.base_commit), spec.probe_near) if spec.probe_near else ()


@lru_cache(maxsize=64)
def _starts(mirrors: Mirrors, repo: RepoName, commit: Sha) -> tuple[str, ...]:
    return group_starts(mirrors.list_paths(repo, commit))
