"""Folders of any depth and mode are walked and removed, and nothing outside of them is touched."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.adapters.folders import FolderMoved, remove, walk

LEVELS = 5000


def names_of_folders(here: int) -> list[str]:
    with os.scandir(here) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A tree of 5,000 levels with a file at its end. It is removed here: pytest cannot remove it later."""
    root = tmp_path / "root"
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("level", dir_fd=here)
        below = os.open("level", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    yield root
    remove(root)


def test_every_level_is_visited_with_one_descriptor(deep: Path) -> None:
    seen: list[int] = []

    def visit(here: int) -> list[str]:
        seen.append(here)
        return names_of_folders(here)

    walk(deep, visit)
    assert len(seen) == LEVELS + 1
    assert len(set(seen)) < 10, "descriptors are used again"


def test_a_deep_tree_is_removed(deep: Path) -> None:
    assert remove(deep)
    assert not deep.exists()


def test_a_removal_ends_in_time_and_can_be_gone_on_with(deep: Path) -> None:
    began = time.monotonic()
    assert not remove(deep, within_s=0.0)
    assert time.monotonic() - began < 60
    assert deep.exists()
    assert remove(deep)


def test_what_is_behind_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "root" / "folder").mkdir(parents=True)
    (tmp_path / "root" / "folder" / "link").symlink_to(tmp_path / "kept")
    assert remove(tmp_path / "root")
    assert (tmp_path / "kept" / "file").exists()


def test_closed_folders_are_removed(as_nobody: Callable[[Callable[[], None]], None]) -> None:
    def act() -> None:
        root = Path("root")
        for mode in (0, 0o100, 0o300, 0o500):
            (root / f"closed-{mode}" / "folder").mkdir(parents=True)
            (root / f"closed-{mode}" / "folder" / "file").touch()
            (root / f"closed-{mode}" / "folder").chmod(mode)
            (root / f"closed-{mode}").chmod(mode)
        root.chmod(0)
        assert remove(root)

    as_nobody(act)


@pytest.fixture
def as_nobody(tmp_path: Path) -> Callable[[Callable[[], None]], None]:
    """Calls a function in a process of an ordinary user, to whom the mode of a folder means something, in a folder of
    that user."""

    def call(act: Callable[[], None]) -> None:
        if os.geteuid() != 0:
            os.chdir(tmp_path)
            act()
            return
        os.chown(tmp_path, 4242, 4242)
        child = os.fork()
        if not child:
            failed = 1
            try:
                os.chdir(tmp_path)
                os.setgid(4242)
                os.setuid(4242)
                act()
                failed = 0
            finally:
                os._exit(failed)
        assert os.waitpid(child, 0)[1] == 0

    return call


def test_a_link_that_takes_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside" / "below").mkdir(parents=True)
    (tmp_path / "root" / "folder").mkdir(parents=True)
    visited = []

    def visit(here: int) -> list[str]:
        found = names_of_folders(here)
        visited.append(found)
        if found == ["folder"]:
            (tmp_path / "root" / "folder").rmdir()
            (tmp_path / "root" / "folder").symlink_to(tmp_path / "outside")
        return found

    walk(tmp_path / "root", visit)
    assert visited == [["folder"]]


def test_a_folder_that_moves_while_it_is_visited_is_said(tmp_path: Path) -> None:
    (tmp_path / "root" / "folder" / "below").mkdir(parents=True)

    def visit(here: int) -> list[str]:
        found = names_of_folders(here)
        if not found:
            (tmp_path / "root" / "folder" / "below").rename(tmp_path / "elsewhere")
        return found

    with pytest.raises(FolderMoved):
        walk(tmp_path / "root", visit)
