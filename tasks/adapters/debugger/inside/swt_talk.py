"""JSON lines over a descriptor of our own. Bound at the start: tests may patch `os`, `json` or `socket`."""

import json
import os
import select
import time

_read, _write, _close = os.read, os.write, os.close
_select, _clock = select.select, time.monotonic
_FD_FLOOR = 400
_CHUNK = 1 << 16


def high(fd):
    """`fd` moved where tests that close or count the low descriptors leave it alone."""
    try:
        import fcntl

        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FD_FLOOR)
    except (ImportError, OSError):
        return fd
    _close(fd)
    return moved


class Talk(object):
    """One end. `EOFError` where the other end is gone."""

    def __init__(self, fd):
        self.fd = high(fd)
        self._rest = b""
        self._encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
        self._decode = json.JSONDecoder().decode

    def send(self, message):
        data = self._encode(message).encode("ascii") + b"\n"
        while data:
            try:
                data = data[_write(self.fd, data) :]
            except OSError:
                raise EOFError from None

    def waiting(self, seconds=0.0):
        """Whether there is something to read, or an end, within so long."""
        return b"\n" in self._rest or bool(_select([self.fd], [], [], seconds)[0])

    def receive(self):
        """The next message; waits for it."""
        while b"\n" not in self._rest:
            try:
                data = _read(self.fd, _CHUNK)
            except OSError:
                data = b""
            if not data:
                raise EOFError
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return self._decode(line.decode("ascii"))
