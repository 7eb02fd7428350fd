"""What the rules doubt of an instance, and that a name or a message that was there before is no doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from snapshot_rows import instance

from tasks.domain.collect import StatementMode
from tasks.domain.instance import TaskInstance
from tasks.domain.published import Flag
from tasks.snapshot.quality import flags_of, relations_of

CLEAR = (
    "Reading an empty file raises\nWhen I call read_lines on a file that is empty, the reader of the second "
    "line should return nothing, but it raises an IndexError instead. This is since version 2 of the package."
)
PATCH = """\
diff --git a/pkg/reader.py b/pkg/reader.py
--- a/pkg/reader.py
+++ b/pkg/reader.py
@@ -1,2 +1,5 @@
 def read_lines(file):
-    return file[1]
+    if not is_blank(file):
+        raise ValueError(f"the file {file} holds no line at all")
+def is_blank(file):
+    return not file
"""
TESTS = """\
diff --git a/tests/test_reader.py b/tests/test_reader.py
--- a/tests/test_reader.py
+++ b/tests/test_reader.py
@@ -1 +1,2 @@
 import reader
+assert reader.read_lines("") == []
"""


def row(said: str = CLEAR, *, asks: str = "") -> TaskInstance:
    tests = TESTS.replace("+1,2 @@", "+1,3 @@") + f"+{asks}\n" if asks else TESTS
    return replace(instance(1), problem_statement=said, patch=PATCH, test_patch=tests)


def found(one: TaskInstance, *in_base: str) -> dict[Flag, str]:
    return {flag.flag: flag.detail for flag in flags_of(one, lambda text: text in in_base)}


def test_a_clear_instance_has_no_flag() -> None:
    assert found(row()) == {}


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ("read_lines fails\nIt does.", {Flag.SHORT}),
        ("read_lines fails\nhttps://example.org/gist/12", {Flag.SHORT, Flag.ONLY_LINK}),
        ("read_lines fails\nhere ![shot](https://example.org/a.png)", {Flag.SHORT, Flag.ONLY_PICTURE}),
        ("read_lines fails\n```\nread_lines(1)\n```\nhttps://example.org/gist/12", {Flag.SHORT}),
        (CLEAR + " and more" * 1000, {Flag.LONG}),
        ("Absturz beim Lesen\n" + "Die Funktion read_lines bricht mit einem Fehler ab, wenn keine Zeile da ist. " * 4,
         {Flag.NOT_ENGLISH}),
        ("Something is slow\n" + "There should be a way to make it much faster than it is for most of us here. " * 2,
         {Flag.NAMES_NOTHING}),
    ],
)  # fmt: skip
def test_what_a_statement_lacks(said: str, flags: set[Flag]) -> None:
    assert set(found(row(said))) == flags


def test_a_statement_from_a_git_history_is_for_trials_only() -> None:
    made = replace(row(), problem_statement_mode=StatementMode.RECONSTRUCTED)
    assert made.trial
    assert set(found(made)) == {Flag.PLACEHOLDER}


def test_a_name_that_only_the_golden_patch_gives() -> None:
    strict = row(asks="assert reader.is_blank([])")
    assert found(strict) == {Flag.UNNAMED: "is_blank"}
    assert found(strict, "is_blank") == {}, "it stands elsewhere in the code before the fix"
    assert found(replace(strict, problem_statement=CLEAR + " An is_blank would help.")) == {}


def test_a_message_that_only_the_golden_patch_gives() -> None:
    strict = row(asks="assert str(error.value).endswith(r'holds no line\\ at all')")
    assert found(strict) == {Flag.EXACT_WORDING: "holds no line at all"}
    assert found(strict, "holds no line at all") == {}
    assert found(replace(strict, problem_statement=CLEAR + " It holds no line at all.")) == {}


def test_what_other_rows_say_of_an_instance() -> None:
    one, two, three = (instance(number) for number in (1, 2, 3))
    theirs = replace(one, snapshot="verified", base_commit="other", problem_statement="clearer")
    issues = {one.instance_id: [7, 8], two.instance_id: [8]}

    flags = [
        (flag.instance_id[-1], flag.flag, flag.detail) for flag in relations_of([one, two, three], issues, [theirs])
    ]

    assert flags == [
        ("1", Flag.SEVERAL_ISSUES, "#7, #8"),
        ("1", Flag.SHARED_ISSUE, "#8 also: a__b-2"),
        ("1", Flag.SAME_PULL_REQUEST, "in verified, other base, statement"),
        ("2", Flag.SHARED_ISSUE, "#8 also: a__b-1"),
    ]
