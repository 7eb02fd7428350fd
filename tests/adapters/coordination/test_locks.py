"""One at a time: threads, processes, and owners that die."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.adapters.coordination.locks import atomic_write, file_lock, temporary_lock

OWNER = """
import sys, time
from pathlib import Path
from tasks.adapters.coordination.locks import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""
ADDS = """
import sys
from pathlib import Path
from tasks.adapters.coordination.locks import temporary_lock
total = Path(sys.argv[2])
for _ in range(20):
    with temporary_lock(Path(sys.argv[1]), wait=True):
        total.write_text(str(int(total.read_text()) + 1))
"""


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    inside = [0]

    def work(_: int) -> int:
        with file_lock(tmp_path / "made" / "lock"):
            inside[0] += 1
            time.sleep(0.002)
            seen = inside[0]
            inside[0] -= 1
            return seen

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(12))) == {1}


def test_a_killed_owner_gives_it_back(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", OWNER, str(lock)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with temporary_lock(lock, wait=False) as held:
            assert not held
        owner.kill()
    with file_lock(lock):
        assert lock.exists()


def test_a_lock_file_that_goes_lets_no_two_in(tmp_path: Path) -> None:
    """Processes that take, remove and make the file anew all the time lose no addition."""
    total = tmp_path / "total"
    total.write_text("0")
    argv = [sys.executable, "-c", ADDS, str(tmp_path / "lock"), str(total)]
    for process in [subprocess.Popen(argv) for _ in range(3)]:
        assert process.wait() == 0
    assert (total.read_text(), (tmp_path / "lock").exists()) == ("60", False)


def test_an_error_inside_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), temporary_lock(tmp_path / "lock", wait=True):
        raise ValueError("inside")
    with temporary_lock(tmp_path / "lock", wait=False) as held:
        assert held


def test_threads_that_write_one_file_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    """With the process's number alone in the name, one moved the other's half away: an environment was undone by it."""
    path, texts = tmp_path / "new" / "facts", [str(number) * 10_000 for number in range(8)]

    def write(text: str) -> None:
        for _ in range(100):
            with atomic_write(path) as half:
                half.write_text(text)

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write, texts))
    assert path.read_text() in texts
    assert list(path.parent.iterdir()) == [path]


def test_what_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "facts"
    path.write_text("before")
    with pytest.raises(OSError, match="full"), atomic_write(path) as half:
        raise OSError(half.write_text("half"), "full")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]
