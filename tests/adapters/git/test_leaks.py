"""A fresh checkout is clean, and each planted leak is found by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.command import Git
from tasks.adapters.git.histories import Histories
from tasks.adapters.git.leaks import Checkout, find_leaks
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.render import blob_sha
from tasks.domain.errors import NotFound
from tasks.domain.guards import Exposure

REPO = "owner/name"
FIXED = b"VALUE = 2\n"
BY_THE_WAY = {"leftover"}
"""git leaves COMMIT_EDITMSG and the like behind whatever it is used for."""


@pytest.fixture
def shas(source: Path, mirrors: Mirrors) -> dict[str, str]:
    """Three commits in a row; the middle one is the base, the last one the fix, with a tag on it."""
    (source / "pkg" / "old.py").write_text("print('python 3')\n")
    git(source, "commit", "--quiet", "--all", "-m", "second")
    found = {"base": git(source, "rev-parse", "HEAD")}
    (source / "pkg" / "mod.py").write_bytes(FIXED)
    git(source, "commit", "--quiet", "--all", "-m", "the fix")
    git(source, "tag", "v2")
    found["fix"] = git(source, "rev-parse", "HEAD")
    mirrors.add(REPO, source)
    return found


@pytest.fixture
def tree(mirrors: Mirrors, shas: dict[str, str], tmp_path: Path) -> Path:
    Histories(Trees(mirrors, tmp_path / "cache")).checkout(REPO, shas["base"], tmp_path / "tree")
    return tmp_path / "tree"


def leaks(mirrors: Mirrors, tree: Path, base: str) -> tuple[Exposure, ...]:
    return find_leaks(Checkout(tree, base, Git(mirrors.root), fixed=frozenset({blob_sha(FIXED)})))


@pytest.mark.parametrize(("depth", "commits"), [(1, "1"), (None, "2")])
def test_a_fresh_checkout_is_clean(
    depth: int | None, commits: str, mirrors: Mirrors, shas: dict[str, str], tmp_path: Path
) -> None:
    histories = Histories(Trees(mirrors, tmp_path / "cache"), depth)
    for name in ("made", "from-the-cache"):
        folder = tmp_path / name
        histories.checkout(REPO, shas["base"], folder)
        assert leaks(mirrors, folder, shas["base"]) == ()
        assert git(folder, "rev-parse", "HEAD") == shas["base"]
        assert git(folder, "rev-list", "--all", "--count") == git(folder, "rev-list", "--count", "HEAD") == commits
        assert git(folder, "status", "--porcelain", "--ignored") == ""
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_missing_commit_is_not_found(mirrors: Mirrors, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Histories(Trees(mirrors, tmp_path / "cache")).checkout(REPO, "1" * 40, tmp_path / "tree")


def future_commit(tree: Path, source: Path) -> None:
    git(tree, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(source), "main:refs/heads/future")


def tag(tree: Path, source: Path) -> None:
    git(tree, "tag", "v1")


def remote(tree: Path, source: Path) -> None:
    git(tree, "remote", "add", "origin", str(source))


def remote_branch(tree: Path, source: Path) -> None:
    git(tree, "update-ref", "refs/remotes/origin/main", "HEAD")


def reflog(tree: Path, source: Path) -> None:
    git(tree, "-c", "core.logAllRefUpdates=true", "update-ref", "--create-reflog", "-m", "x", "refs/heads/main", "HEAD")


def alternate(tree: Path, source: Path) -> None:
    path = tree / ".git" / "objects" / "info" / "alternates"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{source}/.git/objects\n")


def linked_objects(tree: Path, source: Path) -> None:
    (tree / ".git" / "objects" / "ff").symlink_to(source / ".git" / "objects")


def unreachable_blob(tree: Path, source: Path) -> None:
    (tree / "note").write_text("later")
    git(tree, "hash-object", "-w", "note")
    (tree / "note").unlink()


def unreachable_fix(tree: Path, source: Path) -> None:
    git(tree, "hash-object", "-w", str(source / "pkg" / "mod.py"))


def unreachable_commit(tree: Path, source: Path) -> None:
    git(tree, "commit-tree", "-p", "HEAD", "-m", "later", "HEAD^{tree}")


def packed_refs(tree: Path, source: Path) -> None:
    git(tree, "pack-refs", "--all")


def stash(tree: Path, source: Path) -> None:
    (tree / "pkg" / "mod.py").write_text("VALUE = 3\n")
    git(tree, "stash", "--quiet")


def note(tree: Path, source: Path) -> None:
    git(tree, "notes", "add", "-m", "see the fix", "HEAD")


def replacement(tree: Path, source: Path) -> None:
    later = git(tree, "commit-tree", "-m", "later", "HEAD^{tree}")
    git(tree, "replace", "HEAD", later)


def hook(tree: Path, source: Path) -> None:
    (tree / ".git" / "hooks").mkdir()
    (tree / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\n")


def old_head(tree: Path, source: Path) -> None:
    git(tree, "update-ref", "ORIG_HEAD", "HEAD")


def fetch_head(tree: Path, source: Path) -> None:
    git(tree, "fetch", "--quiet", "--no-tags", str(source), git(tree, "rev-parse", "HEAD"))


def worktree(tree: Path, source: Path) -> None:
    git(tree, "worktree", "add", "--quiet", "--detach", str(tree.parent / "second"))


def moved_head(tree: Path, source: Path) -> None:
    git(tree, "checkout", "--quiet", "--orphan", "other")
    git(tree, "commit", "--quiet", "-m", "other")


def setting(tree: Path, source: Path) -> None:
    git(tree, "config", "include.path", "/somewhere")


def hooks_elsewhere(tree: Path, source: Path) -> None:
    git(tree, "config", "core.hooksPath", "/somewhere")


def graft(tree: Path, source: Path) -> None:
    (tree / ".git" / "info" / "grafts").write_text("")


def extra_file(tree: Path, source: Path) -> None:
    (tree / "fix.txt").write_text("the fix")


def fixed_file(tree: Path, source: Path) -> None:
    (tree / "copy.py").write_bytes(FIXED)


def ignored_file(tree: Path, source: Path) -> None:
    (tree / ".git" / "info" / "exclude").write_text("hidden.pyc\n")
    (tree / "hidden.pyc").write_text("the fix")


def changed_file(tree: Path, source: Path) -> None:
    (tree / "pkg" / "mod.py").write_bytes(FIXED)


def other_repository(tree: Path, source: Path) -> None:
    git(tree, "init", "--quiet", "sub/inner")


Plant = Callable[[Path, Path], None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "rules"),
    [
        (future_commit, {"ref", "history", "object", "fix"}),
        (tag, {"tag"}),
        (remote, {"remote"}),
        (remote_branch, {"remote"}),
        (reflog, {"reflog"}),
        (alternate, {"alternate", "object", "fix"}),
        (linked_objects, {"alternate"}),
        (unreachable_blob, {"object"}),
        (unreachable_fix, {"fix"}),
        (unreachable_commit, {"object"}),
        (packed_refs, {"packed-refs"}),
        (stash, {"stash", "history", "object", "reflog"}),
        (note, {"note", "history", "object"}),
        (replacement, {"replace", "history", "object"}),
        (hook, {"hook"}),
        (old_head, {"leftover"}),
        (fetch_head, {"leftover"}),
        (worktree, {"worktree"}),
        (moved_head, {"head", "ref", "history", "object"}),
        (setting, {"setting"}),
        (hooks_elsewhere, {"setting"}),
        (graft, {"leftover"}),
        (extra_file, {"file"}),
        (fixed_file, {"fix"}),
        (ignored_file, {"file"}),
        (changed_file, {"fix"}),
        (other_repository, {"repository", "file"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_leaks(
    plant: Plant, rules: set[str], mirrors: Mirrors, tree: Path, source: Path, shas: dict[str, str]
) -> None:
    plant(tree, source)
    found = {leak.rule for leak in leaks(mirrors, tree, shas["base"])}
    assert rules <= found <= rules | BY_THE_WAY


def test_many_strange_objects_are_counted_and_not_listed(mirrors: Mirrors, tree: Path, shas: dict[str, str]) -> None:
    for number in range(25):
        (tree / "note").write_text(f"later {number}")
        git(tree, "hash-object", "-w", "note")
    (tree / "note").unlink()
    found = leaks(mirrors, tree, shas["base"])
    assert len(found) == 21
    assert found[-1].detail == "5 more"


def test_files_that_a_build_leaves_are_no_leak(mirrors: Mirrors, tree: Path, shas: dict[str, str]) -> None:
    (tree / "pkg" / "_version.py").write_text("version = '1'\n")
    checkout = Checkout(tree, shas["base"], Git(mirrors.root), generated=frozenset({"pkg/_version.py"}))
    assert find_leaks(checkout) == ()


def test_a_pointer_to_another_repository_is_the_leak(mirrors: Mirrors, tree: Path, source: Path) -> None:
    (tree / ".git").rename(tree.parent / "moved")
    (tree / ".git").write_text(f"gitdir: {tree.parent / 'moved'}\n")
    assert [leak.rule for leak in leaks(mirrors, tree, "0" * 40)] == ["alternate"]


def test_a_tree_without_a_repository_has_no_history_to_leak(
    mirrors: Mirrors, shas: dict[str, str], tmp_path: Path
) -> None:
    Trees(mirrors, tmp_path / "cache").checkout(REPO, shas["base"], tmp_path / "plain")
    assert leaks(mirrors, tmp_path / "plain", shas["base"]) == ()
