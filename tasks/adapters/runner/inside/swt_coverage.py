"""The referee: coverage.py's own tracer on the probed files, one dynamic context a case."""

import os
import sys

import swt_children
import swt_lines


class CoverageTracer(object):
    """Line data as coverage.py recorded them, restricted to lines with code; written at the end only."""

    def __init__(self, report, ranges, root, folder):
        self._report = report
        self._files = dict(_files(os.path.realpath(root), ranges))
        if folder:
            sys.path.insert(0, folder)
        import coverage

        if folder:
            sys.path.remove(folder)
        include = list(self._files.values()) or [os.devnull]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self._coverage.start()

    def switch(self, case):
        self._coverage.switch_context(case or "")

    def finish(self):
        self._coverage.stop()
        data = self._coverage.get_data()
        for path, absolute in sorted(self._files.items()):
            contexts = data.contexts_by_lineno(absolute) if absolute in data.measured_files() else {}
            executable, note = swt_lines.executable_of_file(absolute)
            self._hits(path, set(executable), contexts)
            self._report.add(
                "file",
                path=path,
                loaded=bool(data.lines(absolute)),
                executable=executable,
                probed=True,
                note=note,
            )

    def _hits(self, path, watched, contexts):
        found = {}
        for line in sorted(watched & set(contexts)):
            for context in contexts[line]:
                found.setdefault(context, []).append(line)
        for context, lines in found.items():
            self._report.add("hits", path=path, case=context or None, lines=lines, counts=None)


def _files(root, ranges):
    """(path, absolute path) of every file of the checkout that lies in the ranges."""
    for folder, _, names in os.walk(root):
        for name in names:
            absolute = os.path.join(folder, name)
            path = os.path.relpath(absolute, root).replace(os.sep, "/")
            if swt_children.in_ranges(path, ranges):
                yield path, absolute
