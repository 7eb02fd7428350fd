"""The process that keeps the report: the parent of the one in which tests run.

    host ──seal──► keeper ◄──records, each with a code of its own── child (pytest, the tests, all that they import)
                     └──► report file, every line chained to the one before with the seal

The seal is read after the fork and its file removed before any foreign code runs, so it was never in the memory of the
child; the keeper makes itself unreadable to other processes of its user. What the child sends it signs with a key of
its memory, so a process beside it cannot speak for it, and a gap in the count tells that something was lost.
"""

import json
import os
import select
import signal
import traceback

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

SEAL = "seal"
_NOT_DUMPABLE = 4
_CHUNK = 1 << 16
_WAIT_S = 5.0
_DEAF_TO = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE")


def part(report):
    """Fork. The child goes on, with (path of the pipe, key); the parent keeps the report and ends as the child does."""
    pipe, key = report + ".pipe", os.urandom(16)
    if os.path.lexists(pipe):
        os.unlink(pipe)
    os.mkfifo(pipe, 0o600)
    inlet = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    ready = os.pipe()
    child = os.fork()
    if not child:
        os.close(inlet)
        os.close(ready[1])
        said = os.read(ready[0], 1)
        os.close(ready[0])
        if not said:
            raise OSError("the keeper of the report did not start")
        return pipe, key
    os.close(ready[0])
    try:
        Keeper(child, inlet, pipe, key, report).keep(ready[1])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def signature(key, number, data):
    """What the child puts before record `number`."""
    return blake2b(b"%d " % number + data, key=key, digest_size=8).hexdigest().encode("ascii")


class Keeper(object):
    """Reads the pipe until the child is gone."""

    def __init__(self, child, inlet, pipe, key, report):
        self._child, self._inlet, self._pipe, self._key = child, inlet, pipe, key
        self._last = b""
        self._kept = self._lost = self._refused = 0
        self._rest = b""
        path = os.path.join(os.path.dirname(report), SEAL)
        with open(path, "rb") as source:
            self._seal = source.read()
        os.unlink(path)
        self._out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def keep(self, ready):
        """Never returns."""
        _hide()
        wake = _woken_by_children()
        for name in _DEAF_TO:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        os.write(ready, b".")
        os.close(ready)
        status = None
        while status is None:
            select.select([self._inlet, wake], [], [], _WAIT_S)
            found, ended = os.waitpid(self._child, os.WNOHANG)
            status = ended if found else None
            self._drain(wake)
        closing = {"k": "closed", "lost": self._lost, "refused": self._refused}
        self._write([json.dumps(closing, separators=(",", ":")).encode("ascii")])
        os.unlink(self._pipe)
        _end_like(status)

    def _drain(self, wake):
        """Take all that is in the pipe now."""
        _read(wake)
        data = _read(self._inlet)
        while data:
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._write([record for record in map(self._checked, lines) if record is not None])
            data = _read(self._inlet)

    def _checked(self, line):
        """The record of a line that the child wrote; null for any other."""
        number, _, rest = line.partition(b" ")
        code, _, data = rest.partition(b" ")
        if not number.isdigit() or int(number) < self._kept or code != signature(self._key, int(number), data):
            self._refused += 1
            return None
        self._lost += int(number) - self._kept
        self._kept = int(number) + 1
        return data

    def _write(self, records):
        lines = []
        for data in records:
            code = blake2b(self._last + data, key=self._seal, digest_size=16).hexdigest().encode("ascii")
            self._last = code
            lines.append(code + b" " + data + b"\n")
        whole = b"".join(lines)
        while whole:
            whole = whole[os.write(self._out, whole) :]


def _read(fd):
    try:
        return os.read(fd, _CHUNK)
    except OSError:
        return b""


def _woken_by_children():
    """A descriptor that becomes readable when a child ends."""
    listen, speak = os.pipe()
    os.set_blocking(listen, False)
    os.set_blocking(speak, False)
    signal.set_wakeup_fd(speak)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return listen


def _hide():
    """Take our memory and descriptors out of the reach of processes of the same user (man 2 prctl)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def _end_like(status):
    """With the exit code of the child, or by the signal that ended it."""
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
