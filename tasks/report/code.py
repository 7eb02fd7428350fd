"""Code and patches as coloured HTML. With `drawing.py` the only place that makes markup; all text in it is escaped."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import PythonLexer, PythonTracebackLexer
from pygments.lexers.special import TextLexer

from tasks.adapters.patch.read import split_lines
from tasks.adapters.text import CONTROL

LONGEST = 400_000
"""Characters of a patch that are coloured and shown; what is longer is cut, and says so."""
_HUNK = re.compile(r"@@ -(\d{1,15})(?:,\d+)? \+(\d{1,15})(?:,\d+)? @@")
_FILE = re.compile(r"diff --git a/.* b/(.*)")

Lines = Mapping[tuple[str, str], Collection[int]]
"""(path, side) → line numbers."""


@dataclass(frozen=True, slots=True)
class PatchLine:
    """One line of a patch, ready to be shown."""

    kind: str
    """`file`, `hunk`, `added`, `removed`, `context` or `note`."""
    text: Markup
    old: int | None = None
    new: int | None = None
    state: str = ""
    """Of a changed line: `hit`, `missed`, or empty where nothing is known or it cannot be executed."""
    hits: int | None = None
    """How many candidates execute it; null where nothing is known."""


@dataclass(frozen=True, slots=True)
class Painted:
    """What is known of the lines of a golden patch."""

    executable: Lines = field(default_factory=dict)
    hits: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    """(path, side, line) → candidates that execute it."""


def clean(text: str) -> str:
    """The text without control characters: they stand as U+FFFD."""
    return CONTROL.sub("\ufffd", text.encode("utf-8", "backslashreplace").decode())


def python(text: str) -> Markup:
    """Python code in colour."""
    return _coloured(text, "python")


def log(text: str) -> Markup:
    """The end of a test's log: tracebacks in colour."""
    return _coloured(text, "traceback" if "Traceback (most recent call last)" in text else "text")


def patch_lines(patch: str, painted: Painted | None = None) -> tuple[PatchLine, ...]:
    """The lines of a unified diff, with the numbers of both sides, and what is known of changed ones."""
    shown = clean(patch)
    lines = tuple(_lines(shown[:LONGEST], painted or Painted()))
    if len(shown) > LONGEST:
        lines += (PatchLine("note", Markup("… %d more characters") % (len(shown) - LONGEST)),)
    return lines


def _lines(patch: str, painted: Painted) -> Iterator[PatchLine]:
    path, old, new = "", 0, 0
    inside = False
    for line in (one.rstrip("\n") for one in split_lines(patch)):  # as git has lines, whatever a text has in one
        if found := _FILE.match(line):
            path, inside = found[1], False
            yield PatchLine("file", Markup.escape(line))
        elif found := _HUNK.match(line):
            old, new, inside = int(found[1]), int(found[2]), True
            yield PatchLine("hunk", Markup.escape(line))
        elif not inside:
            if line.startswith("+++ b/"):
                path = line.removeprefix("+++ b/").split("\t")[0]
            yield PatchLine("file", Markup.escape(line))
        elif line.startswith("+"):
            yield _changed("added", path, "after", new, line, painted)
            new += 1
        elif line.startswith("-"):
            yield _changed("removed", path, "before", old, line, painted)
            old += 1
        elif line.startswith("\\"):
            yield PatchLine("note", Markup.escape(line))
        else:
            yield PatchLine("context", _line(line[1:], path), old=old, new=new)
            old, new = old + 1, new + 1


def _changed(kind: str, path: str, side: str, number: int, line: str, painted: Painted) -> PatchLine:
    hits = painted.hits.get((path, side, number), 0)
    executable = number in painted.executable.get((path, side), ())
    old, new = (number, None) if kind == "removed" else (None, number)
    state = ("hit" if hits else "missed") if executable else ""
    return PatchLine(kind, _line(line[1:], path), old=old, new=new, state=state, hits=hits if executable else None)


def _line(text: str, path: str) -> Markup:
    """A line by itself: colours inside a string of several lines may be wrong, the text never is."""
    return _one_line(text) if path.endswith((".py", ".pyi")) else Markup.escape(text)


@lru_cache(maxsize=100_000)
def _one_line(text: str) -> Markup:
    return _coloured(text, "python")


@lru_cache(maxsize=2_000)
def _coloured(text: str, language: str) -> Markup:
    done = highlight(clean(text)[:LONGEST], _lexer(language), _formatter())
    return Markup(done.rstrip("\n"))  # noqa: S704 - the formatter escapes all text


@cache
def _lexer(language: str) -> Lexer:
    kind = {"python": PythonLexer, "traceback": PythonTracebackLexer, "text": TextLexer}[language]
    lexer: Lexer = kind(stripnl=False, ensurenl=False)
    return lexer


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True, classprefix="c-")
