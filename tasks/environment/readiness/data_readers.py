"""Selects the test modules that may read a file of test data, by the names in their text. No I/O.

A later run observes which modules read the file.
"""

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
"""Maximum number of modules to collect for one instance.

In 33 pull requests of pylint that change only data, the module that reads the data is always among the first eight.
"""
SHORT = 3
"""Minimum length of a name: shorter ones are too common. For example, pylint sorts its data into folders `a` to `z`."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name by which a module may refer to a file."""

    text: str
    points: float
    """Divided among all modules that contain the name: a common name is a weak hint."""
    is_said: Callable[[str, str], bool]


def drivers(data: Iterable[RepoPath], modules: Mapping[RepoPath, str]) -> tuple[RepoPath, ...]:
    """Returns the modules (path → text) that name a file of `data` or one of its folders; the best match first."""
    scores: dict[RepoPath, float] = defaultdict(float)
    for name in {one.text: one for path in sorted(data, reverse=True) for one in _names(path)}.values():
        said_by = [path for path, text in modules.items() if name.is_said(text, name.text)]
        for path in said_by:
            scores[path] += name.points / len(said_by)
    return tuple(sorted(scores, key=lambda path: (-scores[path], path))[:AT_MOST])


def _names(data: RepoPath) -> Iterator[_Name]:
    """Yields the folders below the common test folder, the file name, and the file name without its suffixes."""
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
    """Whether a string literal contains the folder: a word in a comment or a module's name does not count."""
    return folder in text and _in_string(folder).search(text) is not None


@cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@cache
def _in_string(folder: str) -> re.Pattern[str]:
    return re.compile(rf"""["'/]{re.escape(folder)}["'/]""")
