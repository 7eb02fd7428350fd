"""Trees of a small local repository, their cache and their bytecode."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_source import git

from tasks.adapters.git.bytecode import Bytecode
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees, drop_bytecode
from tasks.adapters.patch.apply import FIXED_MTIME, apply_patch
from tasks.domain.errors import NotFound

REPO = "owner/name"
EDIT = "--- a/pkg/mod.py\n+++ b/pkg/mod.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"


@pytest.fixture
def trees(mirrors: Mirrors, tmp_path: Path) -> Trees:
    return Trees(mirrors, tmp_path / "trees")


@pytest.fixture
def tree(trees: Trees, sha: str, tmp_path: Path) -> Path:
    trees.checkout(REPO, sha, tmp_path / "tree")
    return tmp_path / "tree"


def archives(trees: Trees) -> list[str]:
    return sorted(path.name for path in trees.cache.iterdir())


def test_a_tree_is_the_commit_byte_for_byte(tree: Path, trees: Trees, sha: str) -> None:
    for entry in trees.mirrors.entries(REPO, sha):
        path = tree / entry.path
        if entry.mode == "160000":
            assert list(path.iterdir()) == []
        elif entry.mode == "120000":
            assert str(path.readlink()) == "pkg/mod.py"
        else:
            assert path.read_bytes() == trees.mirrors.read_file(REPO, sha, entry.path)
            assert os.access(path, os.X_OK) == (entry.mode == "100755")


def test_no_attribute_and_no_repository_reaches_a_tree(tree: Path) -> None:
    assert (tree / "version.sub").read_text() == "$Format:%H$\n"
    assert (tree / "hidden.txt").exists()
    assert (tree / "lines.crlf").read_bytes() == b"a\nb\n"
    assert not (tree / ".git").exists()


def test_everything_has_one_time(tree: Path) -> None:
    assert {path.lstat().st_mtime for path in (tree, *tree.rglob("*"))} == {FIXED_MTIME}


def test_a_tree_is_a_copy_of_its_own(tree: Path, trees: Trees, sha: str, tmp_path: Path) -> None:
    (tree / "pkg" / "mod.py").write_text("spoilt\n")
    trees.checkout(REPO, sha, tmp_path / "other")
    assert (tmp_path / "other" / "pkg" / "mod.py").read_text() == "VALUE = 1\n"


def test_many_at_once_get_whole_trees(trees: Trees, sha: str, tmp_path: Path) -> None:
    folders = [tmp_path / f"tree-{n}" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda folder: trees.checkout(REPO, sha, folder), folders))
    assert {len(list(folder.rglob("*"))) for folder in folders} == {12}
    assert archives(trees) == [f"owner__name-{sha}.tar"]


def test_the_least_recently_used_archives_make_room(trees: Trees, sha: str, source: Path, tmp_path: Path) -> None:
    trees.checkout(REPO, sha, tmp_path / "a")
    git(source, "commit", "--quiet", "--allow-empty", "-m", "second")
    trees.mirrors.add(REPO, source)
    second = git(source, "rev-parse", "HEAD")
    small = Trees(trees.mirrors, trees.cache, budget=1)
    small.checkout(REPO, second, tmp_path / "b")
    assert archives(trees) == [f"owner__name-{second}.tar"]
    assert (tmp_path / "b" / "pkg" / "mod.py").exists()


def test_a_missing_commit_leaves_no_archive(trees: Trees, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        trees.checkout(REPO, "0" * 40, tmp_path / "tree")
    assert archives(trees) == []


def imported_value(tree: Path, *options: str) -> tuple[str, bool]:
    """`pkg.mod.VALUE`, and whether it came from a cache."""
    code = "import pkg.mod as m, sys; print(m.VALUE, m.__file__)"
    env = {"PYTHONVERBOSE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, *options, "-c", code]
    done = subprocess.run(argv, cwd=tree, env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()[0], any("matches" in line and "mod" in line for line in done.stderr.splitlines())


def test_bytecode_is_there_and_used(trees: Trees, sha: str, tmp_path: Path) -> None:
    bytecode = Bytecode.of(Path(sys.executable))
    for name in ("first", "second"):
        trees.checkout(REPO, sha, tmp_path / name, bytecode)
        assert imported_value(tmp_path / name) == ("1", True)
    assert f"owner__name-{sha}-{bytecode.tag}.tar" in archives(trees)


@pytest.mark.parametrize("drop", [True, False], ids=["dropped", "forgotten"])
def test_an_edit_of_the_same_size_and_time_never_runs_old_code(
    drop: bool, trees: Trees, sha: str, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    trees.checkout(REPO, sha, tree, Bytecode.of(Path(sys.executable)))
    before = (tree / "pkg" / "mod.py").stat()
    apply_patch(tree, EDIT)
    after = (tree / "pkg" / "mod.py").stat()
    assert (before.st_mtime, before.st_size) == (after.st_mtime, after.st_size)
    if drop:
        assert drop_bytecode(tree, ["pkg/mod.py", "README"]) == 1
    assert imported_value(tree) == ("2", False)


def test_only_caches_of_that_very_module_are_dropped(tmp_path: Path) -> None:
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    for name in ("a.cpython-39.pyc", "a.cpython-39.opt-1.pyc", "a.cpython-39-pytest-7.0.pyc", "ab.cpython-39.pyc"):
        (cache / name).touch()
    assert drop_bytecode(tmp_path, ["a.py"]) == 3
    assert [path.name for path in cache.iterdir()] == ["ab.cpython-39.pyc"]
