"""Applying to files in memory and to trees; the cases lie in cases/apply.toml."""

import os
import tempfile
import tomllib
from pathlib import Path

import pytest

from tasks.adapters.patch import place
from tasks.adapters.patch.apply import Applied, apply_patch, apply_to_files
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.model import Patch, Reason, Refused
from tasks.adapters.patch.read import read_patch

CASES = tomllib.loads((Path(__file__).parent / "cases" / "apply.toml").read_text())["case"]
TWO_FILES = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-nope\n+b\n"


def snapshot(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict, tmp_path: Path) -> None:
    if "base" in case:
        (tmp_path / "x").write_bytes(case["base"].encode())
    before = snapshot(tmp_path)
    applied = apply_patch(tmp_path, case["text"])
    if "reason" in case:
        assert isinstance(applied, Refused)
        assert applied.reason == case["reason"]
        assert snapshot(tmp_path) == before
        return
    assert isinstance(applied, Applied), applied
    assert applied.rung == case["rung"]
    assert snapshot(tmp_path) == ({} if "gone" in case else {"x": case["after"].encode()})
    assert case.get("note", "") in " ".join(applied.notes)
    assert bool(applied.notes) == ("note" in case)


@pytest.mark.parametrize("case", [case for case in CASES if "rung" in case], ids=lambda case: case["name"])
def test_the_normal_form_applies_exactly_and_is_its_own(case: dict) -> None:
    base = {"x": case["base"].encode()} if "base" in case else {}
    first = apply_to_files(_read(case["text"]), base.get)
    assert isinstance(first, Applied)
    again = apply_to_files(_read(first.patch), base.get)
    assert isinstance(again, Applied)
    assert (again.rung, again.patch, again.changes) == ("exact", first.patch, first.changes)


def _read(text: str) -> Patch:
    read = read_patch(text)
    assert isinstance(read, Patch)
    return read


def test_nothing_is_half_applied(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    (tmp_path / "y").write_text("a\n")
    applied = apply_patch(tmp_path, TWO_FILES)
    assert isinstance(applied, Refused)
    assert "y: " in applied.detail
    assert snapshot(tmp_path) == {"x": b"a\n", "y": b"a\n"}


def test_a_repository_above_the_tree_makes_no_difference(tmp_path: Path) -> None:
    tree = tmp_path / "repo" / "tree"
    tree.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tree / "x").write_text("a\n")
    assert isinstance(apply_patch(tree, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), Applied)
    assert (tree / "x").read_text() == "b\n"


def test_written_files_and_folders_are_as_old_as_the_tree(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    apply_patch(tmp_path, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/p/q/y\n@@ -0,0 +1 @@\n+y\n")
    found = [tmp_path / name for name in ("x", "p", "p/q", "p/q/y")]
    assert {path.stat().st_mtime for path in (tmp_path, *found)} == {FIXED_MTIME}


def test_modes_are_kept_and_changed(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    (tmp_path / "x").chmod(0o755)
    (tmp_path / "y").write_text("a\n")
    apply_patch(
        tmp_path, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\nold mode 100644\nnew mode 100755\n"
    )
    assert [os.access(tmp_path / name, os.X_OK) for name in ("x", "y")] == [True, True]


def test_rename_with_an_edit(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\nb\n")
    text = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n"
    applied = apply_patch(tmp_path, text)
    assert isinstance(applied, Applied)
    assert snapshot(tmp_path) == {"y": b"A\nb\n"}


def test_no_configuration_of_the_user_has_a_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[apply]\n\twhitespace = fix\n[core]\n\tautocrlf = true\n")
    (tmp_path / "repo" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "repo" / ".gitattributes").write_text("* text eol=crlf\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "repo" / ".git"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "repo"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "repo" / "x").write_text("a \n")
    assert isinstance(apply_patch(tmp_path / "repo", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a \n+b \n"), Applied)
    assert (tmp_path / "repo" / "x").read_bytes() == b"b \n"


def test_links_in_the_tree_are_not_written_through(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    applied = apply_patch(tree, "--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+a\n")
    assert isinstance(applied, Refused)
    assert applied.reason is Reason.LINK
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["folder", "file/below"])
def test_files_and_folders_are_not_mixed_up(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("a\n")
    applied = apply_patch(tmp_path, f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+a\n")
    assert isinstance(applied, Refused)
    assert applied.reason is Reason.ALREADY_EXISTS


def test_latin_1_files_keep_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"caf\xe9\nb\n")
    text = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n caf\xe9\n-b\n+\xe8\n".decode("utf-8", "surrogateescape")
    assert isinstance(apply_patch(tmp_path, text), Applied)
    assert (tmp_path / "x").read_bytes() == b"caf\xe9\n\xe8\n"


def test_a_hunk_of_a_large_repetitive_file_is_found_quickly() -> None:
    base = {"x": b"same\n" * 50_000 + b"end\n"}
    applied = apply_to_files(_read("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-end\n+END\n"), base.get)
    assert isinstance(applied, Refused | Applied)


def test_a_hunk_that_git_looks_for_without_end_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate can bring both the haystack and the hunk; all of its pieces together share one time for git."""
    monkeypatch.setattr(place, "GIT_S", 0.5)
    lines = 6_000
    haystack = f"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,{lines} @@\n" + "+a\n" * lines
    needle = f"--- a/x.py\n+++ b/x.py\n@@ -5,{lines} +5,{lines} @@\n" + " a\n" * (lines - 1) + "-z\n+y\n"
    plain = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert isinstance(apply_to_files(_read(haystack + plain), {}.get), Applied)
    refused = apply_to_files(_read(haystack + plain + needle * 100), {}.get)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.detail) == (Reason.DOES_NOT_APPLY, "git takes too long to find its place")
