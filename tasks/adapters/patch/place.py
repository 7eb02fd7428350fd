"""Finding where the hunks of one file belong, strictly as git does or with the tolerance of a rung."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.adapters.patch.model import Hunk, Rung

MAX_DISTANCE = 20_000
"""Lines that a hunk is searched away from where its header puts it."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a rung forgives. Removed lines have to be there on every rung."""

    anchors: bool
    """A hunk without context before (after) it has to be at the start (end) of the file, as in git."""
    context: int | None
    """Lines of context that have to match on each side that has as many; null for all."""
    blanks: str
    """`all` compares bytes, `end` ignores blanks and the newline at line ends, `any` ignores every blank."""


TOLERANCES = {
    Rung.EXACT: Tolerance(anchors=True, context=None, blanks="all"),
    Rung.RECOUNT: Tolerance(anchors=True, context=None, blanks="all"),
    Rung.REDUCED_CONTEXT: Tolerance(anchors=False, context=1, blanks="end"),
    Rung.FUZZY: Tolerance(anchors=False, context=0, blanks="any"),
}


@dataclass(slots=True)
class _Line:
    text: str
    key: str
    """What has to agree for two lines to match."""
    done: bool = False
    """Whether a hunk of this patch has been there: such lines match no further hunk."""


def place(lines: list[str], hunks: tuple[Hunk, ...], rung: Rung) -> list[str] | Hunk:
    """`lines` after all `hunks`, or the first hunk that fits nowhere."""
    tolerance = TOLERANCES[rung]
    image = [_Line(text, _key(text, tolerance.blanks)) for text in lines]
    for hunk in hunks:
        if (rung is Rung.EXACT and not hunk.counted) or not _place(image, hunk, tolerance):
            return hunk
    return _terminated([line.text for line in image])


def _terminated(lines: list[str]) -> list[str]:
    """A line that is no longer the last one needs its newline."""
    return [line if line.endswith("\n") else line + "\n" for line in lines[:-1]] + lines[-1:]


def _place(image: list[_Line], hunk: Hunk, tolerance: Tolerance) -> bool:
    """Puts one hunk into the image with as much context as possible, as near as possible to where it should be."""
    for start, stop in _trims(hunk, tolerance.context):
        signed = hunk.lines[start:stop]
        old = [_key(line[1:], tolerance.blanks) for line in signed if line[0] != "+"]
        allowed = _allowed(hunk, len(image) - len(old), tolerance)
        at = _find(image, old, max(hunk.new_start - 1, 0) + start, allowed)
        if at is not None:
            _replace(image, at, signed, tolerance)
            return True
    return False


def _trims(hunk: Hunk, keep: int | None) -> Iterator[tuple[int, int]]:
    """Slices of the hunk's lines with less and less context, at least `keep` lines on each side that had them."""
    before, after = _context(hunk)
    start, stop = 0, len(hunk.lines)
    yield start, stop
    while keep is not None and (before > keep or after > keep):
        if before >= after:
            before, start = before - 1, start + 1
        else:
            after, stop = after - 1, stop - 1
        if any(line[0] != "+" and line[1:].strip() for line in hunk.lines[start:stop]):
            yield start, stop


def _context(hunk: Hunk) -> tuple[int, int]:
    """How many lines of context stand before the first and after the last change."""
    changed = [at for at, line in enumerate(hunk.lines) if line[0] != " "]
    if not changed:
        return len(hunk.lines), 0
    return changed[0], len(hunk.lines) - 1 - changed[-1]


def _allowed(hunk: Hunk, last: int, tolerance: Tolerance) -> range:
    """Positions, 0 to `last`, that the anchors leave."""
    if not tolerance.anchors:
        return range(last + 1)
    first = last if hunk.lines and hunk.lines[-1][0] != " " else 0
    return range(max(first, 0), (0 if hunk.old_start <= 1 else last) + 1)


def _find(image: list[_Line], old: list[str], expected: int, allowed: range) -> int | None:
    """The allowed position nearest to `expected` where `old` stands; after it rather than before it."""
    if not allowed:
        return None
    expected = min(max(expected, allowed[0]), allowed[-1])
    for distance in range(min(len(allowed), MAX_DISTANCE)):
        for at in (expected + distance, expected - distance):
            if at in allowed and _matches(image, old, at):
                return at
    return None


def _matches(image: list[_Line], old: list[str], at: int) -> bool:
    return all(not image[at + n].done and image[at + n].key == wanted for n, wanted in enumerate(old))


def _key(text: str, blanks: str) -> str:
    if blanks == "all":
        return text
    return text.rstrip() if blanks == "end" else "".join(text.split())


def _replace(image: list[_Line], at: int, signed: tuple[str, ...], tolerance: Tolerance) -> None:
    """Carries out a hunk: context lines stay as the file has them."""
    new: list[_Line] = []
    here = at
    for line in signed:
        if line[0] == "+":
            new.append(_Line(line[1:], _key(line[1:], tolerance.blanks), done=True))
            continue
        if line[0] == " ":
            image[here].done = tolerance.anchors
            new.append(image[here])
        here += 1
    image[at:here] = new
