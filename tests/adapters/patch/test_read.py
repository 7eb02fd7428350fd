"""Reading diffs of any origin; the cases lie in cases/read.toml."""

import tomllib
from pathlib import Path

import pytest
import unidiff

from tasks.adapters.patch.model import Patch, Refused
from tasks.adapters.patch.read import read_patch, to_bytes, to_text

CASES = tomllib.loads((Path(__file__).parent / "cases" / "read.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict) -> None:
    read = read_patch(case["text"])
    if "reason" in case:
        assert isinstance(read, Refused)
        assert read.reason == case["reason"]
    else:
        assert isinstance(read, Patch)
        assert [f"{file.status} {file.path}" for file in read.files] == case["files"]


@pytest.mark.parametrize("name", ["git diff with a heading after the hunk header", "plain diff with timestamps"])
def test_a_strict_reader_agrees(name: str) -> None:
    text = next(case["text"] for case in CASES if case["name"] == name)
    read = read_patch(text)
    assert isinstance(read, Patch)
    strict = unidiff.PatchSet(text)
    assert [file.path for file in strict] == [file.path for file in read.files]
    assert [len(hunk) for file in strict for hunk in file] == [len(h.lines) for f in read.files for h in f.hunks]


def test_lines_of_a_fence_are_not_part_of_a_hunk() -> None:
    read = read_patch("```diff\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,9 @@\n+a\n\n```\n- prose\n")
    assert isinstance(read, Patch)
    assert read.files[0].hunks[0].lines == ("+a\n",)


@pytest.mark.parametrize("data", [b"caf\xe9\n", b"\xff\xfe\x00", "ä€😀".encode()])
def test_undecodable_bytes_survive(data: bytes) -> None:
    assert to_bytes(to_text(data)) == data


def test_surrogates_that_are_no_bytes_do_not_break_reading() -> None:
    read = read_patch("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+\ud800\n")
    assert isinstance(read, Patch)
    assert to_bytes(read.files[0].hunks[0].lines[0]) == b"+\xed\xa0\x80\n"


@pytest.mark.parametrize("blank", [" ", "\u3000"])
def test_a_name_with_a_million_spaces_is_read_like_any_other(blank: str) -> None:
    """By the square of their number it would be an hour."""
    read = read_patch(f"--- a/x{blank * 1_000_000}y\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert isinstance(read, Patch)
    assert [file.new_path for file in read.files] == ["x"]


@pytest.mark.parametrize("numbers", ["-{} +1", "-1,{} +1", "-1 +{}", "-1 +1,{}"])
def test_a_number_of_thousands_of_digits_is_no_line(numbers: str) -> None:
    """Python's `int` refuses it, and one such candidate would end the intake of all."""
    text = f"--- a/x\n+++ b/x\n@@ {numbers.format('9' * 5_000)} @@\n-a\n+b\n"
    assert isinstance(read_patch(text), Refused)


def test_a_header_with_a_million_places_to_split_it_is_none() -> None:
    """The names below it count, as always."""
    read = read_patch(f"diff --git a/{'a b/' * 250_000}\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert isinstance(read, Patch)
    assert [file.new_path for file in read.files] == ["x"]
