"""Which test modules may read a file of test data: by what their text names. Pure; who really reads it is watched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import PurePosixPath

from tasks.adapters.patch.split import TEST_FOLDERS
from tasks.domain.names import RepoPath

AT_MOST = 8
"""Modules to collect for one instance: the driver of a data-driven suite names the folder of its data, and of 192 pull
requests of pylint with such data it is among the first two."""
NAMES_FILE, NAMES_STEM, NAMES_FOLDER = 100, 50, 10
SHORT = 3
"""Stems of so few letters are words like any other."""


def drivers(data: Iterable[RepoPath], modules: Mapping[RepoPath, str]) -> tuple[RepoPath, ...]:
    """The modules (path → text) that name a file of `data` or a folder on the way to it; the most telling first."""
    wanted = tuple(data)
    scores = {path: max((_score(path, text, one) for one in wanted), default=0) for path, text in modules.items()}
    named = sorted((path for path, score in scores.items() if score), key=lambda path: (-scores[path], path))
    return tuple(named[:AT_MOST])


def _score(path: RepoPath, text: str, data: RepoPath) -> int:
    """How much a module says of a file: its name, the name without suffix, the folders, the nearest of them most."""
    pure = PurePosixPath(data)
    stem = pure.name.split(".")[0]
    score = NAMES_FILE * _has(text, pure.name) + (NAMES_STEM * _has(text, stem) if len(stem) > SHORT else 0)
    folders = [part for part in pure.parts[:-1] if part not in TEST_FOLDERS]
    score += sum(NAMES_FOLDER + depth for depth, part in enumerate(folders) if _quotes(text, part))
    return score + _shared(path, data) if score else 0


def _has(text: str, name: str) -> bool:
    return name in text and _word(name).search(text) is not None


def _quotes(text: str, folder: str) -> bool:
    """Whether a string names a folder: a word in a remark or the name of a module would not do."""
    return folder in text and _in_string(folder).search(text) is not None


def _shared(path: RepoPath, data: RepoPath) -> int:
    """Folders that a module and a file have in common, from the top."""
    pairs = zip(PurePosixPath(path).parts[:-1], PurePosixPath(data).parts[:-1], strict=False)
    return sum(1 for one, other in pairs if one == other)


@cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@cache
def _in_string(folder: str) -> re.Pattern[str]:
    return re.compile(rf"""["'/]{re.escape(folder)}["'/]""")
