"""A key that does not show itself."""

from __future__ import annotations

import base64
import re

SHORTEST = 16
"""Characters of the shortest text that is taken for a key. What is shorter stands in for one where a server wants none
(`x`, `EMPTY`, `ollama`): taking that out of replies once turned every `x` of a model's code into `[key]`."""
ESCAPES = 8
"""Backslashes before one character: JSON within JSON doubles them each time."""


class Secret:
    """Holds a key; `repr`, `str` and pickling do not show it."""

    __slots__ = ("_pattern", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._pattern = re.compile(_spellings(text)) if len(text) >= SHORTEST else None

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret stays in its process")

    def reveal(self) -> str:
        """The key itself: for the one header that needs it."""
        return self._text

    def scrub(self, text: str) -> str:
        """`text` with the key taken out, for what a provider echoes; unchanged where the key is too short to be one.

        Spellings that are found: plain, with JSON's or a URL's escapes for any of its characters, base64, hexadecimal.
        """
        return self._pattern.sub("[key]", text) if self._pattern else text


def _spellings(key: str) -> str:
    """A regular expression of all spellings of a key. Bounded repeats: a reply may be a million backslashes."""
    escaped = "".join(map(_character, key))
    data = key.encode("utf-8", "surrogatepass")
    return "|".join([escaped, *_in_base64(data), f"(?i:{data.hex()})"])


def _character(char: str) -> str:
    """One character, as JSON or a URL may write it, once or within another."""
    units = char.encode("utf-16-be", "surrogatepass")
    numbers = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    in_json = rf"\\{{1,{ESCAPES}}}".join(f"u(?i:{number})" for number in numbers)
    in_url = "".join(f"%(?:25){{0,3}}(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    return rf"(?:\\{{1,{ESCAPES}}}{in_json}|{in_url}|\\{{0,{ESCAPES}}}{re.escape(char)})"


def _in_base64(data: bytes) -> list[str]:
    """The key within a longer text in base64 (RFC 4648, both alphabets), at each of three places in a group."""
    found = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode("ascii").rstrip("=")
        whole = text[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        found.append(re.escape(whole).replace(r"\+", "[+-]").replace("/", r"(?:\\{0,8}/|_)"))
    return found
