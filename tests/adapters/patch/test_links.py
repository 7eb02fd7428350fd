"""Symbolic links of golden patches: applied where they stay inside the checkout, on plain trees and on layers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.changes import PATCH_OPTIONS
from tasks.adapters.patch.apply import Applied, apply_patch, apply_stored, apply_to_files
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.links import leaves_checkout
from tasks.adapters.patch.model import Patch, Reason, Refused
from tasks.adapters.patch.read import read_patch
from tasks.changed_lines.task import changed_lines
from tasks.domain.names import InstanceKey

Tree = dict[str, str]
"""Path → text; `-> target` stands for a symbolic link."""


def write(folder: Path, tree: Tree) -> Path:
    for path, text in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            target.symlink_to(text.removeprefix("-> "))
        else:
            target.write_text(text)
    return folder


def read(folder: Path) -> Tree:
    paths = (Path(at) / name for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in paths
        if path.is_symlink() or path.is_file()
    }


def diff(folder: Path, before: Tree, after: Tree) -> str:
    folder.mkdir()
    git(folder, "init", "-q")
    for tree in (before, after):
        git(folder, "rm", "-rqf", "--ignore-unmatch", ".")
        write(folder, tree)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x", "--allow-empty")
    return git(folder, "diff", *PATCH_OPTIONS, "HEAD~1", "HEAD") + "\n"


BASE = {"pkg/core.py": "a\n", "pkg/old.py": "-> core.py", "top.py": "t\n"}
CHANGES: dict[str, Tree] = {
    "added": BASE | {"pkg/alias.py": "-> core.py", "deep/er/up.py": "-> ../../top.py"},
    "changed": BASE | {"pkg/old.py": "-> ../top.py"},
    "removed": {path: text for path, text in BASE.items() if path != "pkg/old.py"},
    "became a file": BASE | {"pkg/old.py": "text\n"},
    "was a file": BASE | {"top.py": "-> pkg/core.py"},
    "to a folder": BASE | {"all": "-> pkg"},
    "to nothing": BASE | {"later": "-> pkg/not-there"},
    "in a circle": BASE | {"one": "-> two", "two": "-> one"},
    "through a link of the patch": BASE | {"all": "-> pkg", "pkg/x.py": "-> ../all/core.py"},
    "beside a change": BASE | {"pkg/core.py": "b\n", "pkg/alias.py": "-> core.py"},
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("layered", [False, True], ids=["plain", "layered"])
def test_a_tree_becomes_what_git_says(tmp_path: Path, name: str, layered: bool) -> None:
    text = diff(tmp_path / "repo", BASE, CHANGES[name])
    base = write(tmp_path / "base", BASE)
    tree = base
    if layered:
        tree = tmp_path / "upper"
        tree.mkdir()
    applied = apply_patch(tree, text, base=base if layered else None)
    assert isinstance(applied, Applied), applied
    changed = {path: now for path, now in CHANGES[name].items() if BASE.get(path) != now}
    seen = read(tree)
    assert {path: seen.get(path) for path in changed} == changed
    assert layered or seen == CHANGES[name]
    assert all((tree / path).lstat().st_mtime == FIXED_MTIME for path in changed)
    assert {change.path for change in applied.changes} == {
        path for path in BASE | CHANGES[name] if not _link_or_same(BASE.get(path), CHANGES[name].get(path))
    }


def _link_or_same(before: str | None, after: str | None) -> bool:
    texts = [None if text is None or text.startswith("-> ") else text for text in (before, after)]
    return texts[0] == texts[1]


@pytest.mark.parametrize("name", CHANGES)
def test_the_normal_form_of_a_patch_applies_again(tmp_path: Path, name: str) -> None:
    text = diff(tmp_path / "repo", BASE, CHANGES[name])
    base = {path: now.removeprefix("-> ").encode() for path, now in BASE.items()}
    first = apply_stored(text, base.get)
    assert isinstance(first, Applied), first
    again = apply_stored(first.patch, base.get)
    assert isinstance(again, Applied), again
    assert (again.patch, again.links) == (first.patch, first.links)
    tree = write(tmp_path / "tree", BASE)
    assert isinstance(apply_patch(tree, first.patch), Applied)
    assert read(tree) == CHANGES[name]


OUTSIDE = {
    "absolute": BASE | {"x": "-> /etc/passwd"},
    "climbing": BASE | {"pkg/x": "-> ../../other"},
    "climbing behind a folder": BASE | {"x": "-> pkg/../../other"},
    "through another link of the patch": BASE | {"all": "-> pkg", "a/b/x": "-> ../../all/../../other"},
    "into git's folder": BASE | {"x": "-> .git/config"},
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_link_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    text = diff(tmp_path / "repo", BASE, OUTSIDE[name])
    tree = write(tmp_path / "tree", BASE)
    refused = apply_patch(tree, text)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.LINK
    assert read(tree) == BASE


@pytest.mark.parametrize("layered", [False, True], ids=["plain", "layered"])
def test_a_link_through_a_link_of_the_base_commit_is_followed_there(tmp_path: Path, layered: bool) -> None:
    base = BASE | {"out": "-> /usr", "deep/in": "-> ../pkg"}
    for name, target, outside in (
        ("x", "out/lib", True),
        ("y", "deep/in/core.py", False),
        ("z", "deep/in/../..", True),
    ):
        text = diff(tmp_path / f"repo-{name}", base, base | {name: f"-> {target}"})
        below = write(tmp_path / f"tree-{name}", base)
        tree = tmp_path / f"upper-{name}" if layered else below
        tree.mkdir(exist_ok=True)
        applied = apply_patch(tree, text, base=below if layered else None)
        assert isinstance(applied, Refused) is outside, (name, applied)


def test_a_link_of_a_candidate_is_refused(tmp_path: Path) -> None:
    patch = read_patch(diff(tmp_path / "repo", BASE, CHANGES["added"]))
    assert isinstance(patch, Patch)
    refused = apply_to_files(patch, {}.get)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.LINK


def test_a_link_that_is_not_as_the_patch_says_is_refused(tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", BASE, CHANGES["changed"])
    tree = write(tmp_path / "tree", BASE | {"pkg/old.py": "-> ../elsewhere.py"})
    assert isinstance(apply_patch(tree, text), Refused)


def test_a_link_has_no_changed_lines(tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", BASE, CHANGES["beside a change"])
    assert {row.path for row in changed_lines(InstanceKey("k"), text)} == {"pkg/core.py"}


def test_a_long_chain_of_links_ends() -> None:
    assert not leaves_checkout("a", lambda path: "a" if path == "a" else None)
