"""Text of strangers in pieces to be shown: prose as it stands, fenced code as code. No markup of theirs is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks.report.code import clean

_FENCE = re.compile(r"^[ ]{0,3}(```+|~~~+)([^\n`]*)\n(.*?)(?:^[ ]{0,3}\1[ ]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text."""

    kind: str
    """`prose`, `python` or `code`."""
    text: str


def pieces(text: str) -> tuple[TextPiece, ...]:
    """The text in order; empty prose is left out."""
    found: list[TextPiece] = []
    at = 0
    text = clean(text).strip("\n")
    for match in _FENCE.finditer(text):
        found += [TextPiece("prose", text[at : match.start()])]
        language = match[2].strip().lower()
        found += [
            TextPiece("python" if language in ("python", "py", "python3", "pycon") else "code", match[3].rstrip())
        ]
        at = match.end()
    found += [TextPiece("prose", text[at:])]
    return tuple(TextPiece(one.kind, one.text.strip("\n")) for one in found if one.text.strip())
