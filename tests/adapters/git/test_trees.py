"""Trees of a small local repository, and their cache."""

import os
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.domain.errors import NotFound

REPO = "owner/name"


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


def test_an_archive_is_packed_by_one_of_many_that_need_it(trees: Trees, tmp_path: Path) -> None:
    packed = []

    def pack(archive: Path) -> None:
        packed.append(archive)
        time.sleep(0.3)
        with tarfile.open(archive, "w") as tar:
            tar.addfile(tarfile.TarInfo("a"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: trees.unpack("some.tar", pack, tmp_path / str(number)), range(8)))
    assert all((tmp_path / str(number) / "a").exists() for number in range(8))
    assert len(packed) == 1
    assert archives(trees) == ["some.tar"]


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


def test_an_archive_that_was_never_finished_goes_a_day_later(trees: Trees, sha: str, tmp_path: Path) -> None:
    old, new = trees.cache / ".packing-old", trees.cache / ".packing-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    trees.checkout(REPO, sha, tmp_path / "tree")
    assert (old.exists(), new.exists()) == (False, True)
