"""Records on their way to the keeper: one JSON object a line, sent line by line, by one process only.

Records, told apart by `k`:

    collected {cases, files}                          [case, path, qualname, place] of what is about to run; files seen
    shared {step | null}                              [name, path, qualname] of a shared teardown, or its end
    begin  {case}                                     a case starts
    case   {case, path, qualname, label, phase, outcome, duration, message}
    hits   {path, case | null, lines, counts | null}  watched lines that ran in that context, and how often
    file   {path, loaded, executable, probed, note}   what is known about a watched file
    end    {exit, complaint}                          the runner got to its end

Code under test may close our descriptor, change the folder, patch `os` or `json`, or fork: everything needed is
bound here, before any of it runs.
"""

import json
import os
import stat
import threading

from swt_keeper import signature

MESSAGE_CHARS = 4000
_FD_FLOOR = 400

_open, _close, _write, _fstat, _getpid = os.open, os.close, os.write, os.fstat, os.getpid
_FLAGS = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)


def clip(text, limit=MESSAGE_CHARS):
    """`text` as a string of at most `limit` characters; the end is kept, for that is where tracebacks say why."""
    try:
        text = text if type(text) is str else str(text)
    except Exception:
        text = "(a message that cannot be turned into text)"
    return text if len(text) <= limit else "..." + text[3 - limit :]


def _high_descriptor(fd):
    """`fd` moved where tests that close or count the low descriptors leave it alone."""
    try:
        import fcntl

        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FD_FLOOR)
    except (ImportError, OSError):
        return fd
    _close(fd)
    return high


class Report(object):
    """Appends records; silent in any process but the one that made it."""

    def __init__(self, pipe, key):
        self._path = os.path.abspath(pipe)
        self._key = key
        self._sent = 0
        self._pid = _getpid()
        self._lock = threading.Lock()
        self._encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
        self._reopen()

    def _reopen(self):
        self._fd = _high_descriptor(_open(self._path, _FLAGS))
        self._file = self._identity()

    def _identity(self):
        status = _fstat(self._fd)
        return (status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode))

    def _still_ours(self):
        try:
            return self._identity() == self._file
        except OSError:
            return False

    @property
    def ours(self):
        return _getpid() == self._pid

    def add(self, kind, **fields):
        """Append one record. A forked child's call does nothing."""
        if not self.ours:
            return
        fields["k"] = kind
        record = self._encode(fields).encode("ascii")
        with self._lock:
            data = b"%d %s %s\n" % (self._sent, signature(self._key, self._sent, record), record)
            self._sent += 1
            if not self._still_ours():
                self._reopen()
            while data:
                data = data[_write(self._fd, data) :]
