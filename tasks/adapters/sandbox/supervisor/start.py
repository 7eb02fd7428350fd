"""Starting the job: a fork of a process that has one thread, so that limits can be set between fork and exec."""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress
from typing import NoReturn

from tasks.adapters.sandbox.supervisor.order import PROGRAM_MISSING, PROGRAM_REFUSED, ProcessOrder
from tasks.adapters.sandbox.supervisor.overlay import lay

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
OPEN_FILES = 4096
RESTORED = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGTERM,
    signal.SIGCHLD,
)
"""Signals that a job finds as any program does, whatever we or a shell's `&` and `nohup` made of them."""
DISK_SLACK = 256 << 20
"""A single file may outgrow the disk limit by so much: the meter names the limit before the kernel has to."""

_libc = ctypes.CDLL(None)


def adopt_orphans() -> None:
    """Processes whose parents die come to us instead of init (man 2 prctl)."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: signal.Signals) -> None:
    """Have the kernel send us `number` when the thread that started us is gone."""
    _libc.prctl(PR_SET_PDEATHSIG, int(number))


def start(order: ProcessOrder, output: int, report: int) -> int:
    """The process id of the job, in a session of its own, with `output` as standard output and error."""
    return os.fork() or _child(order, output, report)


def _child(order: ProcessOrder, output: int, report: int) -> NoReturn:
    try:
        os.setsid()
        if order.shielded:
            _shield()
        _become(order, output, report)
    except BaseException as problem:
        os.write(output, f"{order.argv[0]}: {problem}\n".encode("utf-8", "surrogateescape"))
        os._exit(PROGRAM_MISSING if isinstance(problem, FileNotFoundError) else PROGRAM_REFUSED)


def _shield() -> None:
    """Go on in a child. The process left behind waits for it and ends the same way.

    It is the job's parent: a job that kills its parent kills that one and not the supervisor.
    """
    die_with_parent(signal.SIGKILL)
    child = os.fork()
    if not child:
        return
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _become(order: ProcessOrder, output: int, report: int) -> NoReturn:
    if order.layers:
        lay(order.layers)
    die_with_parent(signal.SIGKILL)
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    _set_limits(order)
    os.umask(0o022)
    os.chdir(order.cwd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    argv = _with_descriptors(order, report)
    os.execvpe(argv[0], argv, order.env)  # noqa: S606 - no shell wanted


def _with_descriptors(order: ProcessOrder, report: int) -> list[str]:
    if not order.hidden:
        return list(order.argv)
    os.set_inheritable(report, True)
    syscalls = _holding(bytes.fromhex(order.syscalls))
    named = {"{report_fd}": str(report), "{syscalls_fd}": str(syscalls)}
    hidden = _holding(b"".join(os.fsencode(named.get(word, word)) + b"\0" for word in order.hidden))
    return [word.replace("{hidden_fd}", str(hidden)) for word in order.argv]


def _holding(data: bytes) -> int:
    """A descriptor for the next program, with something to read."""
    memory = os.memfd_create("arguments", 0)
    os.write(memory, data)
    os.lseek(memory, 0, os.SEEK_SET)
    return memory


def _set_limits(order: ProcessOrder) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, order.disk_bytes + DISK_SLACK)
    if order.nproc is not None:
        _limit(resource.RLIMIT_NPROC, order.nproc)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def _limit(which: int, value: int) -> None:
    """Lower a limit, never raise one that is lower already."""
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))
