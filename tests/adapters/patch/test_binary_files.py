"""Binary files in git's own form, as golden tests have them that come with a picture."""

import os
import subprocess
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.changes import PATCH_OPTIONS
from tasks.adapters.patch.apply import Applied, apply_patch, apply_to_files
from tasks.adapters.patch.model import Patch, Reason, Refused, Status
from tasks.adapters.patch.read import read_patch, to_bytes, to_text

SMALL = bytes(range(256))
LARGE = os.urandom(4096) + b"\0"
NEARLY = LARGE[:2000] + b"\0\xff" + LARGE[2000:]
"""So like the other that git writes a delta."""
BLOCKS = bytes(0xFFFF) + LARGE
"""More than one stored block of zlib holds."""
CHANGES = {
    "added": (None, SMALL),
    "a block": (None, BLOCKS[:0xFFFF]),
    "and more": (SMALL, BLOCKS),
    "changed": (SMALL, LARGE),
    "a delta": (LARGE, NEARLY),
    "deleted": (LARGE, None),
    "emptied": (SMALL, b""),
    "filled": (b"", SMALL),
    "text before": (b"words\n", SMALL),
    "text after": (SMALL, b"words\n"),
}


def diff(folder: Path, before: bytes | None, after: bytes | None) -> str:
    """As our collecting asks for it, with a text file beside."""
    folder.mkdir()
    git(folder, "init", "-q")
    for picture, text in ((before, "a\n"), (after, "b\n")):
        (folder / "t.py").write_text(text)
        (folder / "x.png").unlink(missing_ok=True)
        if picture is not None:
            (folder / "x.png").write_bytes(picture)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x")
    return git(folder, "diff", *PATCH_OPTIONS, "HEAD~1", "HEAD")


@pytest.mark.parametrize("name", CHANGES)
def test_what_git_writes_is_applied(name: str, tmp_path: Path) -> None:
    before, after = CHANGES[name]
    text = diff(tmp_path / "repo", before, after)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "t.py").write_text("a\n")
    if before is not None:
        (tree / "x.png").write_bytes(before)
    applied = apply_patch(tree, text)
    assert isinstance(applied, Applied), applied
    assert applied.rung == "exact"
    assert (tree / "t.py").read_text() == "b\n"
    assert ((tree / "x.png").read_bytes() if after is not None else None) == after
    assert (tree / "x.png").exists() == (after is not None)


@pytest.mark.parametrize("name", CHANGES)
def test_its_normal_form_is_its_own_and_git_takes_it(name: str, tmp_path: Path) -> None:
    before, after = CHANGES[name]
    base = {"t.py": b"a\n"} | ({"x.png": before} if before is not None else {})
    first = apply_to_files(read(diff(tmp_path / "repo", before, after)), base.get, stored=True)
    assert isinstance(first, Applied), first
    again = apply_to_files(read(first.patch), base.get, stored=True)
    assert isinstance(again, Applied), again
    assert (again.patch, again.changes) == (first.patch, first.changes)
    folder = tmp_path / "repo"
    git(folder, "checkout", "-q", "HEAD~1")
    (tmp_path / "normal.diff").write_bytes(to_bytes(first.patch))
    git(folder, "apply", "../normal.diff")
    git(folder, "add", "-A")
    assert git(folder, "write-tree") == git(folder, "rev-parse", "@{-1}^{tree}")


def test_two_of_them_and_what_undoes_them_are_told_apart(tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", SMALL, LARGE)
    patch = read(text + "\n" + text.replace("x.png", "y.png").replace("t.py", "u.py"))
    assert [(file.path, file.status, file.binary) for file in patch.files] == [
        ("t.py", Status.MODIFIED, False),
        ("x.png", Status.MODIFIED, True),
        ("u.py", Status.MODIFIED, False),
        ("y.png", Status.MODIFIED, True),
    ]


def test_nobody_else_may_bring_one(tmp_path: Path) -> None:
    refused = apply_to_files(read(diff(tmp_path / "repo", None, SMALL)), {"t.py": b"a\n"}.get)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.BINARY


def test_one_of_another_file_is_refused_and_nothing_written(tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", SMALL, LARGE)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "t.py").write_text("a\n")
    (tree / "x.png").write_bytes(SMALL + b"more")
    refused = apply_patch(tree, text)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.DOES_NOT_APPLY
    assert "x.png: the binary file is not the one that is changed" in refused.detail
    assert (tree / "t.py").read_text() == "a\n"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("literal 256", "literal 255", Reason.DOES_NOT_APPLY),
        ("literal 256", "literal 999999999999", Reason.TOO_LARGE),
        ("literal 256", "literal " + "9" * 5000, Reason.BINARY),
        ("GIT binary patch\n", "GIT binary patch", Reason.BINARY),
        ("index 0", "index 1", Reason.DOES_NOT_APPLY),
        ("\nindex ", "\nthe index ", Reason.DOES_NOT_APPLY),
    ],
)
def test_a_damaged_one_is_refused(old: str, new: str, reason: Reason, tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", None, SMALL)
    index = text.index("x.png")
    text = text[:index] + text[index:].replace(old, new, 1)
    refused = apply_to_files(read(text), {"t.py": b"a\n"}.get, stored=True)
    assert isinstance(refused, Refused), refused
    assert refused.reason is reason


def test_one_of_which_the_contents_are_not_told_is_refused() -> None:
    text = "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"
    refused = apply_to_files(read(text), {"x.png": b"\0"}.get, stored=True)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.BINARY


def test_ten_megabytes_of_lines_like_its_own_are_read_once() -> None:
    text = "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 5\n" + ("z" + "c" * 64 + "\n") * 150_000
    assert read(text).files[0].binary


def read(text: str) -> Patch:
    patch = read_patch(text)
    assert isinstance(patch, Patch)
    return patch


def test_a_binary_file_that_git_was_told_is_text_is_applied_to_a_golden_patch_alone(tmp_path: Path) -> None:
    """git itself takes a file for text where its first 8,000 bytes have no NUL, as a FITS file of astropy has none."""
    folder, states = tmp_path / "repo", (b"head\0\xff\nrest\n", b"head\0\xfe\nrest\n")
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("*.fits diff\n")
    for state in states:
        (folder / "x.fits").write_bytes(state)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x")
    command = ["git", "-C", str(folder), "diff", *PATCH_OPTIONS, "HEAD~1", "HEAD"]
    text = to_text(subprocess.run(command, check=True, capture_output=True).stdout)
    assert "@@" in text
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "x.fits").write_bytes(states[0])
    applied = apply_patch(tree, text)
    assert isinstance(applied, Applied), applied
    assert (tree / "x.fits").read_bytes() == states[1]
    read = read_patch(text)
    assert isinstance(read, Patch)
    refused = apply_to_files(read, lambda _path: states[0])
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.BINARY
