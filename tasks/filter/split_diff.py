"""git's own diff, cut into the test half and the source half without changing a byte."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch, to_text
from tasks.domain.errors import TerminalError

_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
"""Starts a file: inside of hunks every line starts with a sign, inside of binary data no line has a blank."""


@dataclass(frozen=True, slots=True)
class SplitDiff:
    """Together the whole diff; each in its order. Empty where nothing is of that kind."""

    source: bytes
    tests: bytes


def split_diff(diff: bytes, is_test: Callable[[str], bool]) -> SplitDiff:
    """The two parts of a diff that was made without renames, so that each of its files has one path.

    A merge may change nothing of its first parent: then both are empty.
    """
    starts = [match.start() for match in _FILE.finditer(diff)]
    files = [diff[start:end] for start, end in pairwise((*starts, len(diff)))]
    in_tests = [is_test(_path(file)) for file in files]
    return SplitDiff(
        source=b"".join(file for file, test in zip(files, in_tests, strict=True) if not test),
        tests=b"".join(file for file, test in zip(files, in_tests, strict=True) if test),
    )


def _path(file: bytes) -> str:
    patch = read_patch(to_text(file))
    if isinstance(patch, Refused):
        raise TerminalError(f"git wrote a diff that cannot be read: {patch.detail}", hint="the mirror may be damaged")
    return patch.files[0].path
