"""Which test modules may read a file of test data: by what their text names. Pure; who really reads it is watched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from tasks.adapters.patch.split import TEST_FOLDERS
from tasks.domain.names import RepoPath

AT_MOST = 12
"""Modules to collect for one instance. Of 33 pull requests of pylint that change data alone, the one that reads it is
among the first eight in all."""
SHORT = 3
"""Names of fewer letters are words like any other: pylint sorts its data into folders `a` to `z`."""


@dataclass(frozen=True, slots=True)
class _Name:
    """Something that a module may call a file by."""

    text: str
    points: float
    """Shared by all modules that say it: what many say tells little."""
    is_said: Callable[[str, str], bool]


def drivers(data: Iterable[RepoPath], modules: Mapping[RepoPath, str]) -> tuple[RepoPath, ...]:
    """The modules (path → text) that name a file of `data` or a folder on the way to it; the most telling first."""
    scores: dict[RepoPath, float] = defaultdict(float)
    for name in {one.text: one for path in sorted(data, reverse=True) for one in _names(path)}.values():
        said_by = [path for path, text in modules.items() if name.is_said(text, name.text)]
        for path in said_by:
            scores[path] += name.points / len(said_by)
    return tuple(sorted(scores, key=lambda path: (-scores[path], path))[:AT_MOST])


def _names(data: RepoPath) -> Iterator[_Name]:
    """The folders outside of the folder of all tests, the file, and the file without its suffixes."""
    pure = PurePosixPath(data)
    for part in pure.parts[:-1]:
        if part not in TEST_FOLDERS and len(part) >= SHORT:
            yield _Name(part, 30, _quotes)
    if len(stem := pure.name.split(".")[0]) >= SHORT:
        yield _Name(stem, 50, _has)
    yield _Name(pure.name, 100, _has)


def _has(text: str, name: str) -> bool:
    return name in text and _word(name).search(text) is not None


def _quotes(text: str, folder: str) -> bool:
    """Whether a string names a folder: a word in a remark or the name of a module would not do."""
    return folder in text and _in_string(folder).search(text) is not None


@cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@cache
def _in_string(folder: str) -> re.Pattern[str]:
    return re.compile(rf"""["'/]{re.escape(folder)}["'/]""")
