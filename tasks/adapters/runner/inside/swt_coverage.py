"""The referee: coverage.py's own tracer on the watched files, one dynamic context a case."""

import os
import sys

import swt_lines


class CoverageTracer(object):
    """Line data as coverage.py recorded them, restricted to the watched lines; written at the end only."""

    def __init__(self, report, watch, root, folder):
        self._report = report
        self._watch = {path: (os.path.join(os.path.realpath(root), path), lines) for path, lines in watch.items()}
        if folder:
            sys.path.insert(0, folder)
        import coverage

        if folder:
            sys.path.remove(folder)
        include = [absolute for absolute, _ in self._watch.values()]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self._coverage.start()

    def switch(self, case):
        self._coverage.switch_context(case or "")

    def finish(self):
        self._coverage.stop()
        data = self._coverage.get_data()
        for path, (absolute, lines) in sorted(self._watch.items()):
            contexts = data.contexts_by_lineno(absolute) if absolute in data.measured_files() else {}
            executable, note = swt_lines.executable_of_file(absolute, lines)
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
