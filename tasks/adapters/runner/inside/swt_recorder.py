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
        """Say what will run, as (case, path, qualname), and which test files are known by now, before any of it does.

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
