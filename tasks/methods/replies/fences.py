"""Fenced blocks of a reply: the code or commands of a model that calls no tool."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass

_OPENS = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<mark>[^\n`]*)\n")
_CLOSES = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\n?\Z")


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A block between two lines of three or more backticks or tildes."""

    mark: str
    """The language on its first line, without surrounding blanks."""
    body: str
    """Text without the indentation of the fence."""


def fenced_blocks(reply: str) -> tuple[FencedBlock, ...]:
    """Returns the blocks of a reply, in order. A block that is never closed does not count.

    A fence closes only with the same fence in the same column, because a ` ``` ` in a diff can be a line of a file.
    Takes linear time.
    """
    lines = reply.replace("\r\n", "\n").split("\n")
    lines = [*(line + "\n" for line in lines[:-1]), lines[-1]]
    closing: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        if match := _CLOSES.match(line):
            closing[match["indent"], match["fence"]].append(number)
    blocks, at = [], 0
    while at < len(lines):
        match = _OPENS.match(lines[at])
        ends = closing.get((match["indent"], match["fence"]), ()) if match else ()
        place = bisect(ends, at)
        if match is None or place == len(ends):
            at += 1
            continue
        body = "".join(line.removeprefix(match["indent"]) for line in lines[at + 1 : ends[place]])
        blocks.append(FencedBlock(match["mark"].strip(), body))
        at = ends[place] + 1
    return tuple(blocks)
