"""Parses the comment header of each file of `sql/` without DuckDB, so that listing the files is cheap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("tables", "graders", "audits", "views", "macros", "pages")
"""Folders of `sql/`, the most used first."""
_COMMENTS = re.compile(r"\A(?:\s*--[^\n]*\n|\s+|/\*.*?\*/)*", re.DOTALL)
_NEEDS = re.compile(r"--\s*needs\s*:(.*)", re.IGNORECASE)
_KEPT = re.compile(r"--\s*kept: beside the runs\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    kind: str
    """Folder of the file."""
    description: str
    """First paragraph, on one line."""


def headers(sql: Path, kinds: Sequence[str] = KINDS) -> tuple[Header, ...]:
    """Return the header of every file of these folders, sorted by folder and name."""
    return tuple(
        Header(path.stem, kind, description(leading_comments(path.read_text("utf-8"))))
        for kind in kinds
        for path in sorted((sql / kind).glob("*.sql"))
    )


def leading_comments(text: str) -> list[str]:
    """Return the non-blank lines above the first statement."""
    found = _COMMENTS.match(text)
    return [line.strip() for line in text[: found.end() if found else 0].splitlines() if line.strip()]


def without_comments(statement: str) -> str:
    """Return the statement without the comments above it."""
    return _COMMENTS.sub("", statement + "\n").strip()


def description(header: Iterable[str]) -> str:
    """Return the lines up to the first empty comment, `needs` line or `kept` line, joined."""
    lines: list[str] = []
    for line in header:
        words = line.removeprefix("--").strip()
        if _NEEDS.match(line) or _KEPT.match(line) or (lines and not words):
            break
        lines += [words] if words else []
    return " ".join(lines)


def body(header: Iterable[str]) -> list[str]:
    """Return the lines after the description with their indentation, without `needs` and `kept` lines."""
    lines = [
        line.removeprefix("--").removeprefix(" ").rstrip()
        for line in header
        if not _NEEDS.match(line) and not _KEPT.match(line)
    ]
    return lines[lines.index("") + 1 :] if "" in lines else []


def is_kept(header: Iterable[str]) -> bool:
    """Whether the header has a line `-- kept: beside the runs`."""
    return any(_KEPT.match(line) for line in header)


def needs(header: Iterable[str]) -> tuple[str, ...]:
    """Return the names in the `-- needs:` lines, in order."""
    names = (name.strip() for line in header if (match := _NEEDS.match(line)) for name in match[1].split(","))
    return tuple(name for name in names if name)
