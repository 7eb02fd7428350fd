"""Fenced blocks of a reply: what a model hands over or wants to have run, where it calls no tool."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^```[^\n`]*\n(?P<body>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


def fenced_blocks(reply: str) -> tuple[str, ...]:
    """The insides of the blocks between lines of three backticks, in order. One that is never closed is none."""
    return tuple(match["body"] for match in _FENCE.finditer(reply.replace("\r\n", "\n")))
