"""The default tracer: watched files are compiled with probes when they are imported, and nothing else is touched.

The hook is `SourceFileLoader.get_code` itself, for watched paths only. Finders, loaders, specs and `sys.meta_path`
stay as they are, so `inspect`, `pkgutil`, `importlib.resources` and whoever saves and restores the import machinery
see nothing new, and it works for every re-import. Bytecode is neither read nor written for watched files.
"""

import ast
import importlib.machinery
import itertools
import os
import sys

import swt_children
import swt_lines
import swt_plant

_realpath = os.path.realpath


class _Watched(object):
    """One watched file, and how often each of its lines ran since the context was switched.

    A probe has to return None, to count, to stay right when threads meet, and to cost next to nothing: each line has an
    iterator that gives None so often that it never ends, its `__next__` is the probe, and what is left of it tells how
    often that was called. A set that remembers lines, as here before, took half as long again and could not count.
    """

    def __init__(self, path, absolute, lines):
        self.path = path
        self.absolute = absolute
        self.lines = lines
        self._probes = {}
        self._remaining = {}
        self._left = {}
        self.executable = None
        self.loaded = False
        self.probed = False
        self.in_child = None
        self.note = ""

    def code(self, source, filename):
        """Code with probes; without them, and with a note, where they cannot be planted."""
        original = swt_lines.quiet_compile(source, filename)
        self.loaded = True
        tree = swt_lines.quiet_compile(source, filename, ast.PyCF_ONLY_AST)
        self.executable = sorted(self.lines & swt_lines.code_lines(original) - swt_lines.docstrings(tree))
        try:
            swt_plant.plant(tree, set(self.executable), swt_lines.scopes(original))
            planted = swt_plant.arm(swt_lines.quiet_compile(tree, filename), self._probe)
        except Exception as error:
            self.note = "probes could not be planted: %r" % (error,)
            return original
        self.probed = True
        return planted

    def seen_by_child(self, probed):
        """A child process loaded the file, with probes or without them."""
        self.in_child = probed and self.in_child is not False

    def _probe(self, line):
        if line not in self._probes:
            endless = itertools.repeat(None, sys.maxsize)
            self._left[line] = sys.maxsize
            self._remaining[line] = endless.__length_hint__
            self._probes[line] = endless.__next__
        return self._probes[line]

    def take(self):
        """{line: how often it ran} since the last call. Other threads may import and run the file meanwhile."""
        taken = {}
        for line, remaining in list(self._remaining.items()):
            left = remaining()
            if left != self._left[line]:
                taken[line] = self._left[line] - left
                self._left[line] = left
        return taken


class ProbeTracer(object):
    """Hits per context, written whenever the context is switched; those of child processes as well.

    `children` reads what child processes wrote; of a process that a test started, which has no report, it is the path
    where it writes itself.
    """

    def __init__(self, report, watch, root, children):
        self._report = report
        self._children = children
        self._case = None
        self._files = {}
        for path, lines in watch.items():
            absolute = _realpath(os.path.join(root, path))
            self._files[absolute] = _Watched(path, absolute, lines)
        self._hook()
        swt_children.follow_forks(self, children if report is None else children.path)

    def _hook(self):
        loader = importlib.machinery.SourceFileLoader
        original, files = loader.get_code, self._files

        def get_code(self, fullname):
            watched = files.get(_realpath(self.path)) if isinstance(self.path, str) else None
            if watched is None:
                return original(self, fullname)
            try:
                return watched.code(self.get_data(self.path), self.path)
            except (SyntaxError, ValueError, OSError):
                return original(self, fullname)

        loader.get_code = get_code

    def switch(self, case):
        self._flush()
        self._case = case

    def counts(self):
        """[(path, whether probed, {line: how often it ran})] of the files that were loaded, since the last call."""
        return [(watched.path, watched.probed, watched.take()) for watched in self._files.values() if watched.loaded]

    def loaded_paths(self):
        """The watched files that were loaded with probes or without them."""
        return [watched.path for watched in self._files.values() if watched.loaded]

    def _flush(self):
        for path, _, found in self.counts():
            self._add(path, found)
        known = {watched.path: watched for watched in self._files.values()}
        for path, probed, found in self._children.read():
            known[path].seen_by_child(probed)
            self._add(path, found)

    def _add(self, path, found):
        if found:
            lines, counts = zip(*sorted(found.items()))
            self._report.add("hits", path=path, case=self._case, lines=lines, counts=counts)

    def finish(self):
        """Write the rest. A fork of the test process that comes to the end of the runner writes for its parent."""
        if not self._report.ours:
            swt_children.write_lines(self, self._children.path)
            return
        self._flush()
        for watched in self._files.values():
            self._describe(watched)

    def _describe(self, watched):
        if watched.executable is None:
            watched.executable, watched.note = swt_lines.executable_of_file(watched.absolute, watched.lines)
            if watched.absolute in _module_files():
                watched.loaded, watched.note = True, "loaded by a way that probes do not see"
        self._report.add(
            "file",
            path=watched.path,
            loaded=watched.loaded or watched.in_child is not None,
            executable=watched.executable,
            probed=(watched.probed or not watched.loaded) and watched.in_child is not False,
            note=watched.note,
        )


def _module_files():
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {_realpath(path) for path in files if isinstance(path, str)}
