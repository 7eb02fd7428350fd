"""The definitions of one file and their lines. After a replacement, positions below it move.

A file is parsed once for all its edits, because parsing is most of the cost of an edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tasks.methods.edits.snippet import CodeKind, parse

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_GUARD = re.compile(r"if\s*\(?\s*__name__\s*==")


@dataclass(slots=True, kw_only=True)
class OutlineEntry:
    """A definition anywhere in the file, or another statement at module level. Lines are 1-based and inclusive."""

    kind: CodeKind
    name: str
    """`TestX.test_y`; empty for other statements."""
    start: int
    """Line of the first decorator."""
    end: int
    """Last line, including comments that are indented like the body."""
    head: int
    """Line of `def` or `class`."""
    indent: str
    inner: str
    """Indentation of the body; empty if the body is on the line of the head."""
    one_line: bool
    """Whether the body is on the line of the head."""
    top: bool
    """Whether it is a statement at module level."""
    scope: str
    """Name of the class that directly contains it; empty if there is none."""
    alone: bool = False
    """Whether it is the only statement of the body that contains it."""

    @property
    def simple(self) -> str:
        return self.name.rpartition(".")[2]

    def covers(self, line: int) -> bool:
        return self.start <= line <= self.end


@dataclass(slots=True, kw_only=True)
class Outline:
    """One file during editing."""

    lines: list[str]
    """Lines with their line ends."""
    places: list[OutlineEntry]
    """Ordered by first line, outer before inner."""
    newline: str
    moves: list[tuple[int, int]] = field(default_factory=list)
    """Changes in order: the line after which lines were added or removed, and their number."""

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def definitions(self) -> list[OutlineEntry]:
        return [place for place in self.places if place.kind in (CodeKind.FUNCTION, CodeKind.CLASS)]

    @property
    def statements(self) -> list[OutlineEntry]:
        """Statements at module level."""
        return [place for place in self.places if place.top]

    def now(self, line: int) -> int:
        """Returns the current number of a line of the base commit."""
        for after, count in self.moves:
            if line > after:
                line = max(after, line + count)
        return line

    def replace(self, start: int, end: int, new: Sequence[str]) -> None:
        """Replace lines `start` to `end` by `new` (without line ends); with `end` = `start - 1` it only inserts.
        Definitions in the range are dropped, and those below move."""
        if start > 1 and not self.lines[start - 2].endswith(("\n", "\r")):
            self.lines[start - 2] += self.newline
        self.lines[start - 1 : end] = [line + self.newline for line in new]
        count = len(new) - (end - start + 1)
        self.places = [place for place in self.places if not (start <= place.start and place.end <= end)]
        for place in self.places:
            if place.start > end:
                place.start, place.head = place.start + count, place.head + count
            if place.end > end or (place.end == end >= start):
                place.end += count
        self.moves.append((end, count))

    def remember(self, place: OutlineEntry) -> None:
        """Add a definition that was inserted."""
        self.places.append(place)
        self.places.sort(key=lambda one: (one.start, -one.end))

    @property
    def head_end(self) -> int:
        """Last line of the docstring and the `__future__` imports; without them, of the comments at the top."""
        last = 0
        for at, place in enumerate(self.statements):
            docstring = (
                at == 0 and place.kind is CodeKind.OTHER and self.lines[place.start - 1].lstrip("rRuUbB")[:1] in "'\""
            )
            if not (docstring or place.kind is CodeKind.FUTURE):
                break
            last = place.end
        return last or self._comments_end()

    @property
    def imports_end(self) -> int:
        """Last line of the first block of imports; `head_end` if there is none."""
        last = self.head_end
        for place in self.statements:
            if place.kind in (CodeKind.IMPORT, CodeKind.FUTURE):
                last = place.end
            elif place.start > last and place.kind in (CodeKind.FUNCTION, CodeKind.CLASS):
                break
        return last

    @property
    def body_end(self) -> int:
        """Last line with code or a comment, before `if __name__ == "__main__"` at the end of the file."""
        statements = self.statements
        if statements and _GUARD.match(self.lines[statements[-1].start - 1]):
            end = statements[-1].start - 1
            while end and (not self.lines[end - 1].strip() or self.lines[end - 1].startswith("#")):
                end -= 1
            return end
        return next((at for at in range(len(self.lines), 0, -1) if self.lines[at - 1].strip()), 0)

    def _comments_end(self) -> int:
        """Last line of the comments at the top, such as a shebang or a licence."""
        count = 0
        while count < len(self.lines) and self.lines[count].startswith("#"):
            count += 1
        return count


def outline(text: str) -> Outline | None:
    """Returns the outline of a Python file; None if our interpreter cannot parse it."""
    lines = _LINES.findall(text.removeprefix("\ufeff"))
    tree = parse("".join(lines))
    if tree is None:
        return None
    if text.startswith("\ufeff"):
        lines[0] = "\ufeff" + lines[0]
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    return Outline(lines=lines, places=list(_places(tree.body, lines, (), "", top=True)), newline=newline)


def _places(
    body: Sequence[ast.stmt], lines: list[str], names: tuple[str, ...], scope: str, *, top: bool
) -> Iterator[OutlineEntry]:
    """Yields every definition below `body`, and the statements at module level."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own = (*names, node.name)
            place = _definition(node, lines, ".".join(own), scope, top=top)
            place.alone = len(body) == 1
            yield place
            inner = place.name if place.kind is CodeKind.CLASS else ""
            yield from _places(node.body, lines, own, inner, top=False)
            continue
        if top:
            yield _other(node, lines)
        for nested in _nested(node):
            yield from _places(nested, lines, names, scope, top=False)


def _nested(node: ast.stmt) -> list[list[ast.stmt]]:
    """Returns the bodies of a compound statement."""
    if not isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.AsyncWith | ast.AsyncFor):
        return []
    handlers = [handler.body for handler in getattr(node, "handlers", [])]
    return [node.body, *handlers, getattr(node, "orelse", []), getattr(node, "finalbody", [])]


def _definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str], name: str, scope: str, *, top: bool
) -> OutlineEntry:
    start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    first = node.body[0]
    begin = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    one_line = begin == node.lineno
    indent = _blank(lines[node.lineno - 1])
    inner = "" if one_line else _blank(lines[begin - 1])
    end = node.end_lineno or node.lineno
    return OutlineEntry(
        kind=CodeKind.CLASS if isinstance(node, ast.ClassDef) else CodeKind.FUNCTION,
        name=name,
        start=start,
        end=end if one_line else _with_comments(lines, end, indent),
        head=node.lineno,
        indent=indent,
        inner=inner,
        one_line=one_line,
        top=top,
        scope=scope,
    )


def _other(node: ast.stmt, lines: list[str]) -> OutlineEntry:
    kind = CodeKind.OTHER
    if isinstance(node, ast.Import | ast.ImportFrom):
        kind = CodeKind.FUTURE if isinstance(node, ast.ImportFrom) and node.module == "__future__" else CodeKind.IMPORT
    end = node.end_lineno or node.lineno
    return OutlineEntry(
        kind=kind,
        name="",
        start=node.lineno,
        end=_with_comments(lines, end, "") if _nested(node) else end,
        head=node.lineno,
        indent="",
        inner="",
        one_line=True,
        top=True,
        scope="",
    )


def _with_comments(lines: list[str], end: int, indent: str) -> int:
    """Returns `end`, or the last of the comments below it that are indented deeper than the head of the definition."""
    last = end
    for at in range(end, len(lines)):
        line = lines[at]
        if line.strip() and not (line.lstrip().startswith("#") and len(_blank(line)) > len(indent)):
            break
        if line.strip():
            last = at + 1
    return last


def _blank(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
