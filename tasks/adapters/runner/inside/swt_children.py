"""Lines of probed files that child processes run: forks of the test process, and every Python that a test starts.

    test process ──PYTHONPATH, SWT_LINES──► Python: child/sitecustomize.py plants probes on import
         │ fork                                 │
         ▼                                      ▼
    child: inherited probes ──at its end──► FILE.lines ──at the next change of case──► test process ──► sealed report

A child writes a line for each probed file that it loaded: {path, probed, lines, counts}. Any process of the run may
write to that file, and test code may read the settings, which name groups of files and no line. So what is read there
can add executions of lines to the case under way, or mark a file as unprobed, and nothing else: no outcome, no case. A
Python that a test starts gets neither the seal nor the key of the pipe. Test code in the test process could always call
the probes themselves, so a forged line tells no more than that.

A worker of `multiprocessing` writes its lines before each message that it sends, and SIGTERM ends it at once. With a
handler of ours, a worker that SIGTERM reaches just before it waits for a lock would not run again, and the test process
would wait for it forever (seen in one of 60 pools of CPython 3.13).

Not seen: a child that is killed by SIGKILL or replaced by exec, one that is started without our variables (`-I`, `-E`,
an environment of its own), and lines of a child that ends after its case count for the next. A probed file that a
child runs as a script has no probes, and the report says so.
"""

import _signal
import atexit
import os
import sys
import time

VARIABLE = "SWT_LINES"
"""Names the file that says which files get probes in children."""
SETTINGS, LINES = ".children", ".lines"
"""Suffixes of the report's name: settings for children, and what they write."""
FOLDER = "child"
_MAX_BYTES = 1 << 20
"""Of the lines of children, read at one change of case; the rest is read at the next one."""
_MAX_COUNT = 10**12

_MESSAGES, _PAUSE_S = 1000, 0.01
"""Messages of a worker before which it writes its lines; after so many it writes them once in a pause."""
_handlers = []
"""Of SIGTERM, those that are ours."""
_named = set()
"""Files that this process, or the one that it was forked from, wrote a line for."""

_exit, _getpid, _kill = os._exit, os.getpid, os.kill
_open, _read, _write, _close, _stat = os.open, os.pread, os.write, os.close, os.stat
_READ = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_realpath = os.path.realpath


def in_ranges(path, ranges):
    """Whether a path in the checkout is a Python file in one of the ranges [first, end)."""
    return path.endswith(".py") and any(first <= path < end for first, end in ranges)


def path_below(root, absolute):
    """The path in the checkout `root`, which ends in a separator, of an absolute path; None for any other."""
    return absolute[len(root) :].replace(os.sep, "/") if absolute.startswith(root) else None


def announce(report, ranges, root):
    """Write the settings of children beside the report, and have the Pythons that this process starts find them.

    Done in every run, watched or not: runs of a suite look alike.
    """
    path = os.path.abspath(report)
    with open(path + SETTINGS, "w", encoding="utf-8", errors="surrogateescape") as target:
        target.write("%s\n%s\n" % (_realpath(root), path + LINES))
        for first, end in ranges:
            target.write("%s\t%s\n" % (first, end))
    os.environ[VARIABLE] = path + SETTINGS
    folder = os.path.join(os.path.dirname(_realpath(__file__)), FOLDER)
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = folder + (os.pathsep + inherited if inherited else "")


class ChildLines(object):
    """What children wrote, as the test process reads it."""

    def __init__(self, report, ranges):
        import json

        self._loads = json.loads
        self.path = os.path.abspath(report) + LINES
        self._ranges = ranges
        self._offset = 0

    def read(self):
        """[(path, probed, {line: how often it ran})] that is new; what is not of this shape is passed over."""
        try:
            if _stat(self.path).st_size <= self._offset:
                return []
            fd = _open(self.path, _READ)
            try:
                data = _read(fd, _MAX_BYTES, self._offset)
            finally:
                _close(fd)
        except OSError:
            return []
        whole = data.rfind(b"\n") + 1
        self._offset += whole if whole or len(data) < _MAX_BYTES else len(data)
        data = data[:whole]
        return [found for found in map(self._parse, data.split(b"\n")) if found is not None]

    def _parse(self, line):
        try:
            record = self._loads(line.decode("utf-8"))
            path, counts = str(record["path"]), dict(zip(record["lines"], record["counts"]))
            fine = in_ranges(path, self._ranges) and all(
                type(line) is int and type(count) is int and 0 < line < _MAX_COUNT and 0 < count < _MAX_COUNT
                for line, count in counts.items()
            )
            return (path, record["probed"] is True, counts) if fine else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


def write_lines(tracer, path):
    """Append what this process ran since it began."""
    import json

    records = [
        {"path": name, "probed": probed, "lines": list(found), "counts": list(found.values())}
        for name, probed, found in tracer.counts()
        if found or name not in _named
    ]
    _named.update(record["path"] for record in records)
    if records:
        data = b"".join(json.dumps(record).encode("ascii") + b"\n" for record in records)
        fd = _open(path, _APPEND, 0o644)
        try:
            _write(fd, data)
        finally:
            _close(fd)


def follow_forks(tracer, path):
    """Have every fork of this process, and every fork of a fork, write its own lines."""

    def in_child():
        tracer.counts()  # what the parent ran is not the child's
        _hook_exit(tracer, path)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)
        return
    fork = os.fork

    def forking():
        child = fork()
        if not child:
            in_child()
        return child

    os.fork = forking


def _hook_exit(tracer, path):
    """Write lines before `os._exit` and SIGTERM end this process. Returns the function that does, for `atexit`."""
    begun, done = [], []

    def finish():
        if _getpid() not in begun:
            begun.append(_getpid())
            try:
                write_lines(tracer, path)
            except Exception:  # the process ends as it would have
                return
            finally:
                done.append(_getpid())

    def exiting(status):
        finish()
        _exit(status)

    def terminated(number, frame):
        finish()
        if _getpid() not in done:
            return  # the signal came while the process writes its last lines: it ends right after
        _signal.signal(number, _signal.SIG_DFL)
        _kill(_getpid(), number)

    os._exit = exiting
    if _is_worker():
        if _signal.getsignal(_signal.SIGTERM) in _handlers:
            _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        _hook_messages(tracer, path)
        return finish
    _handlers.append(terminated)
    try:
        if _signal.getsignal(_signal.SIGTERM) == _signal.SIG_DFL:
            _signal.signal(_signal.SIGTERM, terminated)
    except ValueError:  # forked in a thread
        pass
    return finish


def _is_worker():
    """Whether `multiprocessing` starts this process: its modules are on the stack then."""
    frame = sys._getframe()
    while frame is not None:
        if os.path.basename(os.path.dirname(frame.f_code.co_filename)) == "multiprocessing":
            return True
        frame = frame.f_back
    return False


def _hook_messages(tracer, path):
    """Write lines before each message of this process. A worker sends one for each result."""
    from contextlib import suppress
    from multiprocessing.connection import Connection

    send, clock = Connection._send_bytes, time.monotonic
    sent = [0, clock()]

    def sending(connection, data):
        sent[0] += 1
        # To count the lines of four files takes 0.2 ms: a worker with very many small results does so seldom.
        if sent[0] <= _MESSAGES or clock() - sent[1] > _PAUSE_S:
            sent[1] = clock()
            with suppress(Exception):  # the message is sent all the same
                write_lines(tracer, path)
        return send(connection, data)

    Connection._send_bytes = sending


def attach():
    """Plant probes in the files that this process imports, as `child/sitecustomize.py` asks for."""
    try:
        with open(os.environ[VARIABLE], encoding="utf-8", errors="surrogateescape") as source:
            root, lines, *rows = source.read().split("\n")
        ranges = [tuple(row.split("\t")) for row in rows if "\t" in row]
        if ranges:
            _Attached(root, lines, ranges).hook()
    except (KeyError, OSError, ValueError):  # no run of ours, or a folder that is gone: the process starts all the same
        return


class _Attached(object):
    """Waits for the first file to probe: a Python that loads none of them pays nothing for probes."""

    def __init__(self, root, lines, ranges):
        self._root, self._lines, self._ranges = root, lines, ranges
        self._tracer = None
        self._cwd = os.getcwd()

    def hook(self):
        from importlib.machinery import SourceFileLoader

        original = SourceFileLoader.get_code

        def get_code(loader, fullname):
            if not isinstance(loader.path, str) or self._path(loader.path) is None:
                return original(loader, fullname)
            SourceFileLoader.get_code = original
            self._begin()
            return SourceFileLoader.get_code(loader, fullname)

        SourceFileLoader.get_code = get_code
        atexit.register(self._script)

    def _path(self, absolute):
        """The path in the checkout of a file to probe; None for any other."""
        path = path_below(self._root + os.sep, _realpath(absolute))
        return path if path is not None and in_ranges(path, self._ranges) else None

    def _begin(self):
        inside = os.path.dirname(_realpath(__file__))
        sys.path.insert(0, inside)
        try:
            import swt_probes
        finally:
            sys.path.remove(inside)
        self._tracer = swt_probes.ProbeTracer(None, self._ranges, self._root, self._lines)
        atexit.register(_hook_exit(self._tracer, self._lines))

    def _script(self):
        """Say that a file to probe ran as a script, without probes. By now `__main__` has no `__file__` any more."""
        script = sys.argv[0] if getattr(sys, "argv", None) else None
        name = self._path(os.path.join(self._cwd, script)) if isinstance(script, str) else None
        if name is None or (self._tracer is not None and name in self._tracer.loaded_paths()):
            return
        record = b'{"path": %s, "probed": false, "lines": [], "counts": []}\n' % _quoted(name)
        fd = _open(self._lines, _APPEND, 0o644)
        _write(fd, record)
        _close(fd)


def _quoted(name):
    import json

    return json.dumps(name).encode("ascii")
