"""Unified diffs out of replies, and the rung on which they apply."""

from __future__ import annotations

import textwrap

import pytest

from tasks.adapters.patch.apply import Applied
from tasks.adapters.patch.model import Refused
from tasks.methods.replies.diffs import diffs_in, patch_from_reply

BASE = {"a.py": b"one = 1\ntwo = 2\nthree = 3\nfour = 4\n"}
GOOD = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one = 1\n+half = 2\n two = 2\n"
MISCOUNTED = GOOD.replace("-1,2 +1,3", "-7,9 +7,9")
INVENTED = GOOD.replace(" one = 1\n", " zero = 0\n one = 1\n")
BINARY = "diff --git a/x.pyc b/x.pyc\nnew file mode 100644\nBinary files /dev/null and b/x.pyc differ\n"


@pytest.mark.parametrize(
    ("reply", "rung"),
    [
        (GOOD, "exact"),
        (f"Here it is:\n\n```diff\n{GOOD}```\nThat should do.", "exact"),
        (f"```\n{MISCOUNTED}```", "recount"),
        (f"```diff\n{INVENTED}```", "reduced-context"),
        (f"<patch>\n{GOOD}</patch>", "exact"),
        (f"It goes like this:\n```diff\n{GOOD}", "exact"),
        (f"```diff\n{GOOD}```\nand\n```diff\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+x = 1\n```", "exact"),
        (f"```diff\n{GOOD.replace('two = 2', 'six = 6')}```\nNo, rather:\n```diff\n{GOOD}```", "exact"),
        (f"```diff\n{BINARY}{GOOD}```", "exact"),
        (f"```python\nprint(1)\n```\n```diff\n{GOOD}```", "exact"),
        (GOOD.replace("\n", "\r\n"), "exact"),
        ("- so:\n" + textwrap.indent(f"```diff\n{GOOD}```\n", "    "), "exact"),
        (f"  ```diff\n{GOOD}```\n", "exact"),
    ],
)
def test_diffs_are_found(reply: str, rung: str) -> None:
    applied = patch_from_reply(reply, BASE.get)
    assert isinstance(applied, Applied)
    assert applied.rung == rung
    assert "+half = 2\n" in applied.patch


def test_a_fence_in_a_file_ends_no_block() -> None:
    base = b'def one():\n    """Say\n\n```\none()\n```\n    """\n    return 1\n'
    diff = '--- a/a.py\n+++ b/a.py\n@@ -3,6 +3,6 @@\n \n ```\n one()\n ```\n     """\n-    return 1\n+    return 2\n'
    applied = patch_from_reply(f"```diff\n{diff}```\n", {"a.py": base}.get)
    assert isinstance(applied, Applied)
    assert "+    return 2\n" in applied.patch


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("I cannot help with that.", "no-diff"),
        ("```python\nprint('--- no diff')\n```", "no-diff"),
        (f"```diff\n{GOOD.replace('a.py', 'none.py')}```", "no-such-file"),
        (f"```diff\n{GOOD.replace(' one = 1', '-seven = 7')}```", "does-not-apply"),
        (f"```diff\n{GOOD.replace('/a.py', '/../../etc/passwd')}```", "climbing-path"),
    ],
)  # fmt: skip
def test_what_is_refused(reply: str, reason: str) -> None:
    refused = patch_from_reply(reply, BASE.get)
    assert isinstance(refused, Refused)
    assert refused.reason == reason


def test_a_reply_without_a_diff_has_no_candidates() -> None:
    assert diffs_in("prose only") == ()
