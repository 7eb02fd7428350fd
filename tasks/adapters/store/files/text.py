r"""Converts any Python string to text that Parquet can store, and back without loss.

Parquet and DuckDB store UTF-8, which has no lone surrogates; Python strings have them after decoding with
`surrogateescape`. Such a string is stored with a leading U+FFFD. Each surrogate becomes `\\udcXX`, and each backslash
that would read like an escape becomes `\\u005c`. All other text is stored unchanged, unless it starts with U+FFFD.
"""

from __future__ import annotations

import re

MARK = "\ufffd"
"""First character of an escaped string. It marks text that was decoded from invalid bytes."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPABLE = re.compile("[\ud800-\udfff]|" + r"\\(?=u(?:005c|d[89a-f][0-9a-f]{2}))")
_ESCAPED = re.compile(r"\\u(005c|d[89a-f][0-9a-f]{2})")


def storable(text: str) -> str:
    """Return the stored form of `text`; `unstorable` is the inverse."""
    if not text.startswith(MARK) and (text.isascii() or _SURROGATE.search(text) is None):
        return text
    return MARK + _ESCAPABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def unstorable(text: str) -> str:
    """Return the string whose stored form is `text`."""
    if not text.startswith(MARK):
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text[len(MARK) :])
