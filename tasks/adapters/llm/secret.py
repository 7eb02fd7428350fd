"""Keeps a key out of logs, messages and stored replies."""

from __future__ import annotations

import base64
import re

SHORTEST = 16
"""Length of the shortest text that counts as a key. Shorter texts are placeholders for servers that need no key (`x`,
`EMPTY`, `ollama`): scrubbing one of these once replaced every `x` in a model's code by `[key]`."""
ESCAPES = 8
"""Maximum number of backslashes before one character: nested JSON doubles them at each level."""


class Secret:
    """Holds a key; `repr` and `str` hide it, and pickling raises `TypeError`."""

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
        """Return the key itself, for the one header that needs it."""
        return self._text

    def scrub(self, text: str) -> str:
        """Return `text` without the key, in case a provider echoes it. Unchanged if the key is too short to be one.

        Finds these spellings: plain, with JSON or URL escapes for any character, base64, hexadecimal.
        """
        return self._pattern.sub("[key]", text) if self._pattern else text


def _spellings(key: str) -> str:
    """Return a regular expression of all spellings. Repeats are bounded: a reply may hold a million backslashes."""
    escaped = "".join(map(_character, key))
    data = key.encode("utf-8", "surrogatepass")
    return "|".join([escaped, *_in_base64(data), f"(?i:{data.hex()})"])


def _character(char: str) -> str:
    """Match one character as JSON or a URL may escape it, also nested."""
    units = char.encode("utf-16-be", "surrogatepass")
    numbers = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    in_json = rf"\\{{1,{ESCAPES}}}".join(f"u(?i:{number})" for number in numbers)
    in_url = "".join(f"%(?:25){{0,3}}(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    return rf"(?:\\{{1,{ESCAPES}}}{in_json}|{in_url}|\\{{0,{ESCAPES}}}{re.escape(char)})"


def _in_base64(data: bytes) -> list[str]:
    """Return the key within a longer base64 text (RFC 4648, both alphabets), at each of three offsets in a group."""
    found = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode("ascii").rstrip("=")
        whole = text[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        found.append(re.escape(whole).replace(r"\+", "[+-]").replace("/", r"(?:\\{0,8}/|_)"))
    return found
