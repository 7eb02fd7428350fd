"""Trees for test runs: what git says of them, on the base commit and after patches, plain and in layers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.commits import Commits, ignore_made
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import Applied, apply_patch
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.bubblewrap import Bubblewrap

REPO = "owner/name"
PATCH = """diff --git a/pkg/mod.py b/pkg/mod.py
--- a/pkg/mod.py
+++ b/pkg/mod.py
@@ -1 +1 @@
-VALUE = 1
+VALUE = 2
diff --git a/pkg/old.py b/pkg/old.py
deleted file mode 100644
--- a/pkg/old.py
+++ /dev/null
@@ -1 +0,0 @@
-print 'python 2'
diff --git a/new/deep.py b/new/deep.py
new file mode 100755
--- /dev/null
+++ b/new/deep.py
@@ -0,0 +1 @@
+x = 1
diff --git a/pkg/alias.py b/pkg/alias.py
new file mode 120000
--- /dev/null
+++ b/pkg/alias.py
@@ -0,0 +1 @@
+mod.py
\\ No newline at end of file
"""
NEW_BLOB = "VALUE = 2\n"


@pytest.fixture
def commits(tmp_path: Path, mirrors: Mirrors) -> Commits:
    folder = tmp_path / "trees"
    folder.mkdir()
    return Commits(Trees(mirrors, folder))


def changed(commits: Commits, tree: Path, below: Path | None = None) -> None:
    applied = apply_patch(tree, PATCH, base=below)
    assert isinstance(applied, Applied), applied
    commits.commit(tree, applied.paths, below=below)


def test_the_base_commit_is_the_only_one(commits: Commits, tmp_path: Path, sha: str, source: Path) -> None:
    tree = tmp_path / "tree"
    commits.checkout(REPO, sha, tree)
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-list", "--all", "--count") == "1"
    assert git(tree, "rev-parse", "HEAD^{tree}") == git(source, "rev-parse", "HEAD^{tree}")
    assert git(tree, "log", "--format=%an %ae %at %s") == f"tree tree@localhost {FIXED_MTIME} tree"
    assert git(tree, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(tree, "ls-files", "pkg/mod.py", "run.sh", "link").split() == ["link", "pkg/mod.py", "run.sh"]
    assert git(tree, "describe", "--always") == git(tree, "rev-parse", "--short", "HEAD")
    assert git(tree, "rev-parse", "--is-shallow-repository") == "true"
    assert git(tree, "fsck", "--full", "--unreachable") == ""
    assert not (tree / ".git" / "objects" / "info" / "alternates").exists()
    assert not (tree / ".git" / "logs").exists()
    assert git(tree, "rev-parse", "HEAD") != sha


@pytest.mark.parametrize("layered", [False, True], ids=["plain", "layered"])
def test_after_a_patch_the_only_commit_holds_what_it_left(
    commits: Commits, tmp_path: Path, sha: str, layered: bool
) -> None:
    base = tmp_path / "base"
    commits.checkout(REPO, sha, base)
    tree = base
    if layered:
        tree = tmp_path / "upper"
        tree.mkdir()
    before = {path: path.stat().st_mtime for path in base.rglob("*") if not path.is_symlink()}
    changed(commits, tree, base if layered else None)
    times = {path.lstat().st_mtime for path in (tree / ".git").rglob("*") if path.name != "index"}
    assert times == {FIXED_MTIME}
    if layered:
        assert before == {path: path.stat().st_mtime for path in base.rglob("*") if not path.is_symlink()}
        tree = merged(base, tree, tmp_path)
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-list", "--all", "--count") == "1"
    listed = git(tree, "ls-files", "--stage", "new", "pkg").split("\n")
    modes = {line.split("\t")[1]: line.split()[0] for line in listed}
    assert modes["new/deep.py"] == "100755"
    assert modes["pkg/alias.py"] == "120000"
    assert "pkg/old.py" not in modes
    assert git(tree, "show", "HEAD:pkg/mod.py") == "VALUE = 2"
    assert git(tree, "log", "--format=%an %at") == f"tree {FIXED_MTIME}"


def merged(base: Path, upper: Path, folder: Path) -> Path:
    """What an overlay shows."""
    shown = folder / "merged"
    for layer in (base, upper):
        for at, folders, files in os.walk(layer):
            place = shown / Path(at).relative_to(layer)
            place.mkdir(parents=True, exist_ok=True)
            for name in (*files, *(name for name in folders if (Path(at) / name).is_symlink())):
                (place / name).unlink(missing_ok=True)
                if not (Path(at) / name).is_char_device():
                    os.link(Path(at) / name, place / name, follow_symlinks=False)
    return shown


def test_the_same_files_are_the_same_commit_however_they_came_about(commits: Commits, tmp_path: Path, sha: str) -> None:
    heads = set()
    for name in ("one", "two"):
        commits.checkout(REPO, sha, tmp_path / name)
        changed(commits, tmp_path / name)
        heads.add(git(tmp_path / name, "rev-parse", "HEAD"))
    base, upper = tmp_path / "base", tmp_path / "upper"
    upper.mkdir()
    commits.checkout(REPO, sha, base)
    changed(commits, upper, base)
    heads.add((upper / ".git" / "refs" / "heads" / "main").read_text().strip())
    assert len(heads) == 1


def test_before_the_fix_nothing_of_it_is_there(commits: Commits, tmp_path: Path, sha: str, source: Path) -> None:
    """The mirror knows the fix, the checkout does not."""
    (source / "pkg" / "mod.py").write_text(NEW_BLOB)
    git(source, "commit", "-qam", "the fix (#7)")
    git(source, "tag", "v2")
    commits.trees.mirrors.add(REPO, source)
    fixed = git(source, "rev-parse", "HEAD:pkg/mod.py")
    tree = tmp_path / "tree"
    commits.checkout(REPO, sha, tree)
    known = git(tree, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").split("\n")
    assert fixed not in {line.split()[0] for line in known}
    assert sum(line.endswith("commit") for line in known) == 1
    assert git(tree, "tag") == ""


def test_files_may_take_the_place_of_folders_and_submodules(commits: Commits, tmp_path: Path, sha: str) -> None:
    tree = tmp_path / "tree"
    commits.checkout(REPO, sha, tree)
    patch = "".join(
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        for path in ("sub/test_x.py", ".gitattributes2", "deep/.gitattributes")
    )
    applied = apply_patch(tree, patch)
    assert isinstance(applied, Applied), applied
    commits.commit(tree, applied.paths)
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "ls-files", "sub") == "sub/test_x.py"


def test_files_that_a_build_left_are_ignored(commits: Commits, tmp_path: Path, sha: str) -> None:
    tree = tmp_path / "tree"
    commits.checkout(REPO, sha, tree)
    (tree / "pkg" / "_version.py").write_text("version = '1'\n")
    assert git(tree, "status", "--porcelain") == "?? pkg/_version.py"
    ignore_made(tree, ["pkg/_version.py"])
    assert git(tree, "status", "--porcelain") == ""


@pytest.mark.bubblewrap
@pytest.mark.skipif(Bubblewrap().why_not() != "", reason="needs bubblewrap")
def test_a_job_over_a_shared_tree_sees_a_clean_repository(commits: Commits, tmp_path: Path, sha: str) -> None:
    """The sandbox shows the base with another owner and other inodes, and git does not read the files again."""
    base, upper, out = tmp_path / "base", tmp_path / "upper", tmp_path / "out"
    for folder in (upper, out):
        folder.mkdir()
    commits.checkout(REPO, sha, base)
    changed(commits, upper, base)
    script = "git status --porcelain; git diff-files --name-only; git log --oneline | wc -l; git show HEAD:pkg/mod.py"
    job = Job(argv=("sh", "-c", script), checkout=upper, base=base, outbox=out, log=tmp_path / "log")
    assert Bubblewrap(tmp_path).run(job).exit_code == 0
    assert job.log.read_text().split("\n") == ["1", "VALUE = 2", ""]
