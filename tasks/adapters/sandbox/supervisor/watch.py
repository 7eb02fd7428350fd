"""Watches one job to its end. `serve.py` forks one such process per job, from one interpreter per flow.

A process of its own for three reasons: it has one thread, so it may fork; it adopts every orphan of the job, so it
can find, measure and end daemons; and the kernel closes its connection when the flow dies, so that nothing survives a
`kill -9`.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from contextlib import suppress
from types import FrameType

from tasks.adapters.sandbox.supervisor import tree
from tasks.adapters.sandbox.supervisor.disk import DISK, DiskMeter
from tasks.adapters.sandbox.supervisor.log import CHUNK, CappedLog
from tasks.adapters.sandbox.supervisor.order import ProcessOrder, Verdict
from tasks.adapters.sandbox.supervisor.start import die_with_parent, start

TICK_S = 0.05
SHARE = 50
"""At most one part in so many of the time is spent on reading /proc, but:"""

LONGEST_S = 1.0
"""between two looks there is never more, however slow the machine: a fork bomb makes it slow."""

GIVE_UP_S = 20.0
"""How long killed processes may take to go away."""

PIPE_BYTES = 1 << 20


STOPPED = "stopped"
WALL = "wall"


class ProcessWatch:
    """One job under way."""

    def __init__(self, order: ProcessOrder, flow: int, parent: int) -> None:
        self.order = order
        self.flow = flow
        """The connection that brought the order: it ends when the flow dies or wants no verdict any more."""
        self.parent = parent
        """The process that forked this one."""
        self.family = tree.Family(os.getpid())
        self.reaped_s = 0.0
        """CPU seconds of the dead that came to us."""
        self.seen_s = 0.0
        """CPU seconds as last looked up: the dead of a namespace whose init is killed are never told to anybody."""
        self.status: int | None = None
        self.stopped = False
        self.log = CappedLog(order.log, order.log_bytes)
        self.pipe, output = _pipe()
        self.report, report = os.pipe()
        self.wake = self._wake_on_signals()
        self.began = time.monotonic()
        self.main = start(order, output, report)
        os.close(output)
        os.close(report)
        self.disk = DiskMeter(order.disk_roots, order.disk_bytes)
        self.due = self.began + TICK_S

    def run(self) -> Verdict | None:
        """Until the job is over, its tree gone and its log complete; `None` if we were told to stop."""
        limit = self._until_over()
        wall = time.monotonic() - self.began
        self._counted(tree.descendants(os.getpid()))
        code = None if self.status is None else os.waitstatus_to_exitcode(self.status)
        self._clear()
        if self.stopped:
            return None
        if code:
            limit = self._late_limit(code)
        os.set_blocking(self.report, False)
        report = os.read(self.report, CHUNK).decode()
        over = limit == WALL
        cpu_s = max(self.reaped_s, self.seen_s)
        return Verdict(code, over, "" if over else limit, self.log.dropped > 0, wall, cpu_s, report)

    def _until_over(self) -> str:
        while self.status is None:
            self._wait()
            self._reap()
            if self.stopped:
                return STOPPED
            if self.status is None and (limit := self._passed()):
                return limit
        return ""

    def _wait(self) -> None:
        """Sleep until there is output, a dead child or a look to take; copy the output."""
        last = self.began + self.order.wall_s
        pause = max(0.0, min(self.due, last) - time.monotonic())
        sources = [self.flow, self.wake, self.pipe] if self.pipe >= 0 else [self.flow, self.wake]
        ready = select.select(sources, [], [], pause)[0]
        if self.wake in ready:
            os.read(self.wake, CHUNK)
        self.stopped = self.stopped or self.flow in ready
        if self.pipe in ready and not self.log.take(self.pipe):
            os.close(self.pipe)
            self.pipe = -1

    def _reap(self) -> bool:
        """Collect the dead and their CPU seconds; false where no child is left at all."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            self.reaped_s += usage.ru_utime + usage.ru_stime
            if pid == self.main:
                self.status = status

    def _passed(self) -> str:
        """The limit that is passed at this moment, or nothing."""
        now = time.monotonic()
        if now - self.began >= self.order.wall_s:
            return "wall"
        if now < self.due:
            return ""
        limit = self._look()
        after = time.monotonic()
        self.due = after + min(max(TICK_S, SHARE * (after - now)), LONGEST_S)
        return limit

    def _look(self) -> str:
        processes = self._counted(self.family.members())
        if sum(process.threads for process in processes) > self.order.tasks + self.order.own_tasks:
            return "processes"
        if tree.memory(processes, self.order.memory_bytes) > self.order.memory_bytes:
            return "memory"
        return self.disk.over(process.pid for process in processes)

    def _counted(self, processes: list[tree.Member]) -> list[tree.Member]:
        self.seen_s = max(self.seen_s, self.reaped_s + sum(process.cpu_s for process in processes))
        return processes

    def _late_limit(self, code: int) -> str:
        """A job that failed by itself may have failed because the disk was full for it."""
        return DISK if code == -signal.SIGXFSZ else self.disk.passed(())

    def _clear(self) -> None:
        """End what is left of the tree, collect it, and copy the rest of the output."""
        patience = time.monotonic() + GIVE_UP_S
        while self._reap() and time.monotonic() < patience:
            tree.kill_below(os.getpid())
            time.sleep(0.002)
        if self.pipe >= 0:
            os.set_blocking(self.pipe, False)
            while self.log.take(self.pipe):
                pass
        self.log.close()

    def _wake_on_signals(self) -> int:
        """A descriptor that becomes readable when a child dies or we are told to stop."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._note)
        signal.signal(signal.SIGTERM, self._note)
        die_with_parent(signal.SIGTERM)
        self.stopped = os.getppid() != self.parent
        return reading

    def _note(self, number: int, _frame: FrameType | None) -> None:
        """The byte on the wake-up descriptor ends the sleep; all that is left to say is whether to go on."""
        self.stopped = self.stopped or number == signal.SIGTERM


def _pipe() -> tuple[int, int]:
    """A pipe for the output that the job may also open by name (/dev/stdout), whoever it runs as."""
    reading, writing = os.pipe()
    os.fchmod(writing, 0o666)
    with suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing
