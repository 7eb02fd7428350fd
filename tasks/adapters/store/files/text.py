"""Text that Parquet can hold: every Python string has one stored form, and comes back unchanged.

Parquet and DuckDB hold UTF-8, which has no lone surrogates; Python strings have them wherever bytes were decoded with
`surrogateescape`. Such a string is stored with a leading U+FFFD, each surrogate as `\\udcXX`, and each backslash that
would read like an escape as `\\u005c`. All other text (unless it starts with U+FFFD itself) is stored as it is.
"""

from __future__ import annotations

import re

MARK = "\ufffd"
"""First character of an escaped string: "there were bytes here that are not text"."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPABLE = re.compile("[\ud800-\udfff]|" + r"\\(?=u(?:005c|d[89a-f][0-9a-f]{2}))")
_ESCAPED = re.compile(r"\\u(005c|d[89a-f][0-9a-f]{2})")


def storable(text: str) -> str:
    """`text` in the form that is stored; `unstorable` is the inverse."""
    if not text.startswith(MARK) and (text.isascii() or _SURROGATE.search(text) is None):
        return text
    return MARK + _ESCAPABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def unstorable(text: str) -> str:
    """The string whose stored form is `text`."""
    if not text.startswith(MARK):
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text[len(MARK) :])
