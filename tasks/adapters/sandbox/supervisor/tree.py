"""The process tree below one process, read from /proc: who is in it, what it uses, and how to end it."""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
FORGET_S = 1.0


class Member(NamedTuple):
    """One process, as /proc/<pid>/stat has it (man 5 proc)."""

    pid: int
    parent: int
    state: str
    threads: int
    started: int
    """Clock ticks since boot: with the pid it names a process for good."""
    rss: int
    """Resident bytes, shared pages counted in full."""
    cpu_s: float
    """User and system seconds of its own and of the children that it has collected."""


def member(pid: int) -> Member | None:
    """The process with this id; `None` once it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return Member(
        pid,
        parent=int(fields[1]),
        state=fields[0].decode(),
        threads=int(fields[17]),
        started=int(fields[19]),
        rss=int(fields[21]) * PAGE,
        cpu_s=sum(map(int, fields[11:15])) / TICKS,
    )


def everyone(but: Collection[int] = ()) -> list[Member]:
    """All processes that /proc shows; those with the ids `but` are not looked at."""
    found = (member(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid not in but)
    return [process for process in found if process is not None]


def descendants(root: int) -> list[Member]:
    """Processes below `root`, itself excluded, parents before their children; the uncollected dead still count."""
    return _below(root, everyone())


class Family:
    """The descendants of one process, looked up many times: strangers that are older than it are remembered.

    Reading all of /proc took 2 ms for 127 processes, twenty times a second, beside a job of one or two. Younger ones
    are looked at each time: whose parent ends between two reads is nobody's child in this look and may be ours in the
    next. A process id may be given anew, so after `FORGET_S` everybody is looked at again.
    """

    def __init__(self, root: int) -> None:
        self.root = root
        born = member(root)
        self._born = born.started if born else 0
        self._strangers: set[int] = set()
        self._due = 0.0

    def members(self) -> list[Member]:
        """As `descendants`; who has the id of a remembered stranger is at most `FORGET_S` late."""
        now = time.monotonic()
        if now >= self._due:
            self._strangers.clear()
            self._due = now + FORGET_S
        seen = everyone(but=self._strangers)
        found = _below(self.root, seen)
        ours = {process.pid for process in found}
        self._strangers.update(one.pid for one in seen if one.started < self._born and one.pid not in ours)
        return found


def _below(root: int, processes: Iterable[Member]) -> list[Member]:
    children: dict[int, list[Member]] = defaultdict(list)
    for process in processes:
        children[process.parent].append(process)
    found = list(children[root])
    for process in found:
        found.extend(children[process.pid])
    return found


def memory(processes: Iterable[Member], limit: int) -> int:
    """Resident bytes of the processes. Shared pages are counted once where the plain sum is above `limit`."""
    processes = list(processes)
    plain = sum(process.rss for process in processes)
    if plain <= limit:
        return plain
    return sum(_proportional(process) for process in processes)


def _proportional(process: Member) -> int:
    """Proportional set size in bytes; the resident size where the kernel does not tell.

    Nothing where the process has ended since: its pages are free, or counted with those who share them.
    """
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return process.rss


def kill(processes: Iterable[int], number: int = signal.SIGKILL) -> None:
    """Send a signal to each; those that are gone or not ours are passed over."""
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_below(root: int) -> int:
    """End every descendant of `root`; the number of processes found.

    All are stopped first, again and again until no new one turns up, so that a fork bomb cannot outrun the killing.
    """
    stopped: set[int] = set()
    while fresh := [process.pid for process in descendants(root) if process.pid not in stopped]:
        kill(fresh, signal.SIGSTOP)
        stopped.update(fresh)
    kill(stopped)
    return len(stopped)
