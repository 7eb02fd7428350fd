"""What work has seen: found again, cut off, spoiled, and of one process at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tasks.methods.replay_log import ReplayLog


def once(path: Path, name: str, asked: str, seen: Any) -> Any:
    """As a process sees it that opens the journal, looks once, and dies."""
    with ReplayLog(path) as journal:
        return journal.once(name, asked, lambda: seen)


def test_what_was_cut_off_is_seen_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert once(path, "a", "x", 1) == 1
    with path.open("ab") as file:
        file.write(b'["b", "x", ')
    assert once(path, "b", "x", [2]) == [2]
    assert once(path, "a", "x", 0) == 1
    assert once(path, "b", "x", 0) == [2]
    assert once(path, "b", "other", 3) == 3
    assert once(path, "b", "x", 4) == 4


def test_spoiled_lines_were_not_seen(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    once(path, "a", "x", 1)
    with path.open("ab") as file:
        file.write(b"\0\xff\n7\n[1]\n[1, 2, 3, 4]\nnull\n")
    assert once(path, "a", "x", 0) == 1


def test_the_second_to_open_it_remembers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with ReplayLog(path) as first:
        first.keep("a", "x", 1)
        with ReplayLog(path) as second:
            assert second.once("a", "x", lambda: 2) == 2
            second.finish()
        first.keep("b", "x", 3)
    assert once(path, "b", "x", 0) == 3


def test_nothing_stays_of_what_saw_nothing_or_is_finished(tmp_path: Path) -> None:
    with ReplayLog(tmp_path / "a" / "journal"):
        pass
    with ReplayLog(tmp_path / "a" / "journal") as journal:
        journal.keep("a", "x", 1)
        journal.finish()
        journal.keep("b", "x", 1)
    assert list((tmp_path / "a").iterdir()) == []


def test_a_full_disk_ends_the_journal_and_not_the_work(tmp_path: Path) -> None:
    journal = ReplayLog(tmp_path / "journal")
    journal._file = os.open("/dev/full", os.O_WRONLY)
    assert [journal.once("a", "x", lambda: 1), journal.once("b", "x", lambda: 2)] == [1, 2]
