"""A line counter on `sys.settrace`, as the standard library's `trace` is one: what ours is measured against.

    python line_tracer.py OUT WATCHED… -- SCRIPT ARG…
    python line_tracer.py OUT WATCHED… -- -m MODULE ARG…

Runs a script or module as `__main__` in this process with every Python call told to a global trace function; lines of
the WATCHED files are counted and written to OUT as JSON. Threads are traced, child processes are not.
Plain and standard library only: it runs on CPython 3.6 to 3.13.
"""

import json
import os
import runpy
import sys
import threading


class Counter(object):
    """{(file name, line): times} of the watched files."""

    def __init__(self, watched):
        self._watched = {os.path.realpath(path) for path in watched}
        self._known = {}
        self.counts = {}

    def globally(self, frame, event, _argument):
        """Called for every Python call: the line function where the code is of a watched file."""
        name = frame.f_code.co_filename
        watched = self._known.get(name)
        if watched is None:
            watched = self._known[name] = os.path.realpath(name) in self._watched
        return self.locally if watched and event == "call" else None

    def locally(self, frame, event, _argument):
        if event == "line":
            key = frame.f_code.co_filename, frame.f_lineno
            self.counts[key] = self.counts.get(key, 0) + 1
        return self.locally

    def write(self, path):
        lines = {}
        for (name, line), _ in sorted(self.counts.items()):
            lines.setdefault(name, []).append(line)
        with open(path, "w") as target:
            json.dump(lines, target)


def main(argv):
    split = argv.index("--")
    out, watched, command = argv[0], argv[1:split], argv[split + 1 :]
    counter = Counter(watched)
    written = os.path.abspath(out)
    real_exit = os._exit

    def leave(code):
        counter.write(written)
        real_exit(code)

    os._exit = leave
    try:
        _run(command, counter)
    finally:
        sys.settrace(None)
        threading.settrace(None)
        counter.write(written)


def _run(command, counter):
    """As `python SCRIPT …` or `python -m MODULE …` would, traced from here on."""
    if command[0] == "-m":
        sys.argv, run = command[1:], lambda: runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        sys.path[0] = os.getcwd()
    else:
        sys.argv, run = command, lambda: runpy.run_path(command[0], run_name="__main__")
        sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
    threading.settrace(counter.globally)
    sys.settrace(counter.globally)
    run()


if __name__ == "__main__":
    main(sys.argv[1:])
