"""Parses requirement lines and requirement files. No I/O: a callable reads the files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Read = Callable[[str], str | None]
"""Returns the text of a file by its path from the checkout's root; None if it does not exist."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_COMMENT = re.compile(r"(^|\s)#.*$")
_INCLUDE = re.compile(r"(?:-r|--requirement)[=\s]*(?P<path>\S+)")
_CONSTRAINT = re.compile(r"(?:-c|--constraint)[=\s]*(?P<path>\S+)")
_HASH = re.compile(r"\s+--hash[=\s]\S+")
_SELF = re.compile(r"(?:-e|--editable)[=\s]*|\.(?:$|[/\[])|file:|/")


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements, and bounds on their dependencies."""

    lines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def __add__(self, other: Requirements) -> Requirements:
        return Requirements(unique(self.lines + other.lines), unique(self.constraints + other.constraints))

    def without(self, names: Iterable[str]) -> Requirements:
        """Returns the requirements without the named distributions."""
        gone = {normal(name) for name in names}
        return Requirements(
            tuple(line for line in self.lines if name_of(line) not in gone),
            tuple(line for line in self.constraints if name_of(line) not in gone),
        )

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name_of(line) for line in self.lines)


def normal(name: str) -> str:
    """Returns the normalised name of a distribution (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """Returns the normalised name of the distribution in a PEP 508 line; empty if there is none."""
    match = _NAME.match(requirement.strip())
    return normal(match[0]) if match else ""


def unique(lines: Iterable[str]) -> tuple[str, ...]:
    """Returns the lines in their first order, without duplicates."""
    return tuple(dict.fromkeys(lines))


def read_requirements(read: Read, path: str, seen: frozenset[str] = frozenset()) -> Requirements:
    """Returns all requirements of a file, including those of included files.

    Skips the checkout itself, other checkouts, URLs and the installer's own options.
    """
    text = read(path)
    if text is None or path in seen:
        return Requirements()
    found = Requirements()
    for line in _logical_lines(text):
        found += _one_line(read, path, line, seen | {path})
    return found


def _logical_lines(text: str) -> list[str]:
    joined = text.replace("\\\r\n", " ").replace("\\\n", " ").lstrip("\ufeff")
    lines = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]


def _one_line(read: Read, path: str, line: str, seen: frozenset[str]) -> Requirements:
    folder = posixpath.dirname(path)
    if match := _INCLUDE.match(line):
        return read_requirements(read, posixpath.normpath(posixpath.join(folder, match["path"])), seen)
    if match := _CONSTRAINT.match(line):
        bounds = read_requirements(read, posixpath.normpath(posixpath.join(folder, match["path"])), seen)
        return Requirements((), bounds.lines + bounds.constraints)
    return Requirements(parse_lines([line]))


def parse_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Returns the PEP 508 lines, without hashes; skips other lines that installers accept."""
    bare = (_HASH.sub("", _COMMENT.sub("", line)).strip() for line in lines)
    return tuple(line for line in bare if line and not _is_foreign(line))


def _is_foreign(line: str) -> bool:
    return line.startswith("-") or bool(_SELF.match(line)) or "://" in line or not name_of(line)
