"""What every adapter tells: a case begins, a case ended, a module could not be collected."""

import os
import time

from swt_report import clip

_clock = time.perf_counter
_realpath, _relpath = os.path.realpath, os.path.relpath

_AT_ONCE = 200
_WORST_FIRST = ("failed", "error", "xpassed", "skipped", "xfailed", "passed")


def worst(first, second):
    """The graver of two (outcome, phase, message) verdicts; the first of equals."""
    return first if _WORST_FIRST.index(first[0]) <= _WORST_FIRST.index(second[0]) else second


def written_name(function, name):
    """Name of the function in the source that a case called `name` was made from.

    Libraries that make a method of each row of parameters (parameterized, ddt) put the row behind the function's name,
    and keep the function's `__qualname__`.
    """
    written = str(getattr(function, "__qualname__", name)).rpartition(".")[2]
    return written if written.isidentifier() and name.startswith(written + "_") else name


class Places(object):
    """Numbers the cases of each function in the order in which they are collected, from 0.

    Case ids may hold what differs between processes (a time, an address, a temporary folder); a place does not.
    """

    def __init__(self):
        self._counts = {}
        self._known = {}

    def add(self, case, path, qualname):
        """(case, path, qualname, place); a case that comes again keeps its place."""
        if case not in self._known:
            count = self._counts.get((path, qualname), 0)
            self._counts[path, qualname] = count + 1
            self._known[case] = (case, path, qualname, count)
        return self._known[case]

    def of(self, case):
        """What `add` said of the case; null where it was never added."""
        return self._known.get(case)


class Recorder(object):
    """Writes records and switches the tracer's context. One case is open at a time."""

    def __init__(self, report, tracer, root):
        self._report = report
        self._tracer = tracer
        self._root = _realpath(root)
        self._started = 0.0
        self.open_case = None
        self.over = False
        """Whether the repository's runner went through all that it had; adapters say so."""

    def relative(self, path):
        """`path` relative to the checkout, with forward slashes; as it stands if it lies elsewhere."""
        try:
            found = _relpath(_realpath(path), self._root)
        except (OSError, ValueError, TypeError):
            return str(path)
        return str(path) if found.startswith("..") else found.replace("\\", "/")

    def collected(self, cases, files):
        """Say what will run, as (case, path, qualname, place), and which test files are known by now, before any of it
        does.

        Whatever ends the process later, nobody has to guess what it did not get to.
        """
        for start in range(0, len(cases), _AT_ONCE):
            self._report.add("collected", cases=cases[start : start + _AT_ONCE], files=[])
        self._report.add("collected", cases=[], files=list(files))

    def begin(self, case):
        """Open `case`; what runs from now on belongs to it."""
        if not self._report.ours:
            return
        self._report.add("begin", case=case)
        self._tracer.switch(case)
        self.open_case = case
        self._started = _clock()

    def shared(self, step=None):
        """(name, path, qualname) of a teardown that several cases share, while it runs; null when it is over."""
        self._report.add("shared", step=step)

    def leave(self):
        """What runs from now on belongs to no case."""
        if self._report.ours:
            self._tracer.switch(None)
            self.open_case = None

    def elapsed(self):
        return _clock() - self._started

    def case(self, case, path, qualname, label, verdict, duration):
        """Write one row; `verdict` is (outcome, phase, message)."""
        outcome, phase, message = verdict
        self._report.add(
            "case",
            case=case,
            path=path,
            qualname=qualname,
            label=label,
            phase=phase,
            outcome=outcome,
            duration=duration,
            message=clip(message),
        )

    def uncollected(self, path, message, outcome="error"):
        """One row for a module that gave no cases."""
        self.case(path, path, "", path, (outcome, "collect", message), None)
