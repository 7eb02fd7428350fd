"""Fenced blocks of a reply: what a model hands over or wants to have run, where it calls no tool."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^```(?P<mark>[^\n`]*)\n(?P<body>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A block between two lines of three backticks."""

    mark: str
    """The language that its first line names, without spaces around it."""
    body: str


def fenced_blocks(reply: str) -> tuple[FencedBlock, ...]:
    """The blocks of a reply, in order. One that is never closed is none."""
    found = _FENCE.finditer(reply.replace("\r\n", "\n"))
    return tuple(FencedBlock(match["mark"].strip(), match["body"]) for match in found)
