"""Fenced blocks of a reply: what a model hands over or wants to have run, where it calls no tool."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<mark>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
"""A fence is closed by one that begins in the same column: ` ``` ` in a diff is a line of a file."""


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A block between two lines of three or more backticks or tildes."""

    mark: str
    """The language that its first line names, without spaces around it."""
    body: str
    """Without the indentation of the fence."""


def fenced_blocks(reply: str) -> tuple[FencedBlock, ...]:
    """The blocks of a reply, in order. One that is never closed is none."""
    found = _FENCE.finditer(reply.replace("\r\n", "\n"))
    return tuple(FencedBlock(match["mark"].strip(), _moved(match["body"], match["indent"])) for match in found)


def _moved(body: str, indent: str) -> str:
    return "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
