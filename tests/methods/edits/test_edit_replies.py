"""Replies in the edit format and what becomes of the files, case by case; and what holds for all of them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch, Rung
from tasks.adapters.patch.read import read_patch
from tasks.methods.edits.apply import apply_reply
from tasks.methods.edits.model import Edited, EditReason, EditRefused

CASES = tomllib.loads((Path(__file__).parent / "cases" / "replies.toml").read_text(encoding="utf-8"))
FILES = {
    "tests/test_a.py": CASES["base"],
    "README.md": "Hello\n",
    "old.py": "print 'old'\n",
    "plain.py": "x = 1\n",
    "plain_class.py": "class Empty: pass\n",
}


def read(path: str) -> bytes | None:
    return FILES[path].encode() if path in FILES else None


def applied(reply: str) -> Edited | EditRefused:
    return apply_reply(reply, read, tuple(FILES))


def signed(patch: str, sign: str) -> list[str]:
    """The lines of one sign, headers left out."""
    return [line[1:] for line in patch.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)]


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: case["name"])
def test_replies(case: dict[str, Any]) -> None:
    done = applied(case["reply"])
    if "reason" in case:
        assert isinstance(done, EditRefused)
        assert done.reason == case["reason"]
        return
    assert isinstance(done, Edited)
    assert (signed(done.patch, "-"), signed(done.patch, "+")) == (case["removed"], case["added"])
    assert done.match == case["match"]
    assert [one.reason.value for one in done.refused] == case.get("refused", [])


def test_every_reason_of_the_blocks_has_a_case() -> None:
    tried = {case["reason"] for case in CASES["case"] if "reason" in case}
    assert tried == {reason.value for reason in EditReason} - {EditReason.NO_MATCH.value}


@pytest.mark.parametrize("case", [case for case in CASES["case"] if "added" in case], ids=lambda case: case["name"])
def test_results_parse_and_their_diffs_apply_exactly(case: dict[str, Any]) -> None:
    done = applied(case["reply"])
    assert isinstance(done, Edited)
    for change in done.changes:
        ast.parse(change.after or "")
    patch = read_patch(done.patch)
    assert isinstance(patch, Patch)
    again = apply_to_files(patch, read)
    assert isinstance(again, Applied)
    assert again.rung is Rung.EXACT
    assert {change.path: change.after for change in again.changes} == {c.path: c.after for c in done.changes}


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    base = b"import os\r\n\r\n\r\ndef test_a():\r\n    pass\r\n"
    reply = "edit a.py\nrewrite test_a\ndef test_a():\n    assert os\nend edit"
    done = apply_reply(reply, {"a.py": base}.get)
    assert isinstance(done, Edited)
    assert done.changes[0].after == "import os\r\n\r\n\r\ndef test_a():\r\n    assert os\r\n"


def test_several_edits_of_one_file_see_each_other() -> None:
    reply = (
        "edit tests/test_a.py\ninsert at end\ndef test_new():\n    pass\nend edit\n"
        "edit tests/test_a.py\nrewrite test_new\ndef test_new():\n    assert 1\nend edit\n"
        "edit tests/test_a.py\ndelete TestBox.test_open\nend edit\n"
        "edit tests/test_a.py\ndelete TestBox.test_shut at 22\nend edit"
    )
    done = applied(reply)
    assert isinstance(done, Edited)
    after = done.changes[0].after or ""
    tree = {node.name: node for node in ast.parse(after).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert ast.unparse(tree["test_new"]).endswith("assert 1")
    assert [type(node).__name__ for node in tree["TestBox"].body] == ["Assign"]


names = st.sampled_from(["test_one", "TestBox.test_open", "TestBox.test_shut", "TestLid", "test_two", "TestBox"])
places = st.sampled_from(["", " at end", " at start", " at 1", " at 12", " at 20", " at 9999", " in TestBox"])
codes = st.sampled_from(
    [
        "def test_two():\n    pass",
        "    def test_in(self):\n        '''a\nb'''",
        "async def test_one():\n    x = '''\n'''",
        "class TestBox:\n    def test_open(self):\n        pass",
        "import re\nfrom __future__ import annotations\n\n\n@deco\ndef test_two(self):\n    pass",
        "# only\nx = 1",
    ]
)
verbs = st.sampled_from(["insert", "rewrite", "delete"])


@given(st.lists(st.tuples(verbs, names, places, codes, st.booleans()), min_size=1, max_size=4))
def test_whatever_is_edited_parses_and_leaves_strange_comments_alone(
    edits: list[tuple[str, str, str, str, bool]],
) -> None:
    blocks = [
        f"edit tests/test_a.py\n{verb}{f' {name}' if named and verb != 'insert' else ''}{place}\n{code}\nend edit"
        for verb, name, place, code, named in edits
    ]
    done = applied("\n".join(blocks))
    if isinstance(done, Edited):
        for change in done.changes:
            ast.parse(change.after or "")
            assert "# licence\n" in (change.after or "")


@given(st.text(alphabet="diff edit\nrwinsertEOF12`:def():pass#'\"\\\t ", max_size=200))
def test_no_reply_makes_the_reader_fail(text: str) -> None:
    assert isinstance(applied(text), Edited | EditRefused)
