"""Search-and-replace blocks."""

from __future__ import annotations

import pytest

from tasks.methods.edits.model import Edited, EditRefused
from tasks.methods.edits.replace import apply_replacements

BASE = "def a():\n    return 1\n\n\nclass B:\n    def c(self):\n        return 2  \n    d = 1\n    e = 1\n"


def block(old: str, new: str, path: str = "a.py") -> str:
    return f"# modification\n<file>{path}</file>\n<original>{old}</original>\n<patched>{new}</patched>\n"


def done(reply: str) -> Edited | EditRefused:
    return apply_replacements(reply, {"a.py": BASE.encode()}.get)


@pytest.mark.parametrize(
    ("old", "new", "match", "there"),
    [
        ("\n    return 1\n", "\n    return 3\n", "exact", "    return 3\n"),
        ("\n        return 2\n", "\n        return 3\n", "nearest", "        return 3\n"),
        ("def c(self):\n    return 2", "def c(self):\n    return 4", "fuzzy", "    def c(self):\n        return 4\n"),
        ("", "\ndef z():\n    pass\n", "exact", "    e = 1\n\n\ndef z():\n    pass\n"),
        ("```python\n    return 1\n```", "```python\n    return 5\n```", "exact", "    return 5\n"),
    ],
)  # fmt: skip
def test_originals_are_found(old: str, new: str, match: str, there: str) -> None:
    result = done(block(old, new))
    assert isinstance(result, Edited)
    assert result.match == match
    assert there in (result.changes[0].after or "")


def test_a_new_file_and_two_blocks() -> None:
    result = done(block("", "\nx = 1\n", "b.py") + block("\n    return 1\n", "\n    return 9\n"))
    assert isinstance(result, Edited)
    assert {change.path: change.before is None for change in result.changes} == {"b.py": True, "a.py": False}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty-reply"),
        ("<file>a.py</file><original>x", "no-block"),
        (block("nowhere", "x"), "no-match"),
        (block("    = 1", "x"), "no-match"),
        (block("x", "y", "none.py"), "no-such-file"),
        (block("", "y", "/etc/passwd"), "climbing-path"),
        (block("    return 1", "    return 1"), "nothing-changed"),
    ],
)
def test_reasons(reply: str, reason: str) -> None:
    result = done(reply)
    assert isinstance(result, EditRefused)
    assert result.reason == reason


def test_an_original_that_is_there_twice_is_refused() -> None:
    result = apply_replacements(block("x = 1", "x = 2"), {"a.py": b"x = 1\nx = 1\n"}.get)
    assert isinstance(result, EditRefused)
    assert "2 times" in result.detail
