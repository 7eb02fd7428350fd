"""The default tracer: files in given ranges of paths get a probe in each line with code when they are imported.

Whole groups of neighbouring files get probes, in every run of a suite alike: the process holds nothing that tells which
of the files, and which of their lines, are watched. The report is filtered outside of the sandbox.

The hook is `SourceFileLoader.get_code` itself, for these paths only. Finders, loaders, specs and `sys.meta_path`
stay as they are, so `inspect`, `pkgutil`, `importlib.resources` and whoever saves and restores the import machinery
see nothing new, and it works for every re-import. Bytecode is neither read nor written for probed files.
"""

import ast
import importlib.machinery
import itertools
import operator
import os
import sys

import swt_children
import swt_lines
import swt_plant

_realpath, _islink, _isabs, _split, _join = (
    os.path.realpath,
    os.path.islink,
    os.path.isabs,
    os.path.split,
    os.path.join,
)
_length = operator.length_hint


class _Probed(object):
    """One file with probes, and how often each of its lines ran since the context was switched.

    A probe has to return None, to count, to stay right when threads meet, and to cost next to nothing: each line has an
    iterator that gives None so often that it never ends, its `__next__` is the probe, and what is left of it tells how
    often that was called. A set that remembers lines, as here before, took half as long again and could not count.
    """

    def __init__(self, path):
        self.path = path
        self._lines = []
        self._probes = {}
        self._iterators = []
        self._left = []
        self.executable = []
        self.loaded = False
        self.probed = False
        self.in_child = None
        self.note = ""

    def code(self, source, filename):
        """Code with probes; without them, and with a note, where they cannot be planted."""
        original = swt_lines.quiet_compile(source, filename)
        tree = swt_lines.quiet_compile(source, filename, ast.PyCF_ONLY_AST)
        self.loaded = True
        self.executable = sorted(swt_lines.code_lines(original) - swt_lines.docstrings(tree))
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
            self._probes[line] = endless.__next__
            self._lines.append(line)
            self._left.append(sys.maxsize)
            self._iterators.append(endless)
        return self._probes[line]

    def take(self):
        """{line: how often it ran} since the last call. Other threads may import and run the file meanwhile."""
        now = list(map(_length, list(self._iterators)))
        before = self._left[: len(now)]
        if now == before:
            return {}
        self._left[: len(now)] = now
        return {line: old - new for line, old, new in zip(self._lines, before, now) if old != new}


class ProbeTracer(object):
    """Hits per context, written whenever the context is switched; those of child processes as well.

    `children` reads what child processes wrote; of a process that a test started, which has no report, it is the path
    where it writes itself.
    """

    def __init__(self, report, ranges, root, children):
        self._report = report
        self._children = children
        self._ranges = ranges
        self._root = _realpath(root) + os.sep
        self._case = None
        self._files = {}
        self._folders = {}
        self._hook()
        swt_children.follow_forks(self, children if report is None else children.path)

    def _path(self, name):
        """The path in the checkout of a file that is to be probed; null for any other.

        The folders of links are looked up once: to look at each step to each of 600 modules took 30 ms.
        """
        folder, base = _split(name)
        if folder not in self._folders or not _isabs(folder):
            self._folders[folder] = _realpath(folder)
        absolute = _join(self._folders[folder], base)
        if _islink(absolute):
            absolute = _realpath(absolute)
        path = swt_children.path_below(self._root, absolute)
        return path if path is not None and swt_children.in_ranges(path, self._ranges) else None

    def _hook(self):
        loader = importlib.machinery.SourceFileLoader
        original, files, path_of = loader.get_code, self._files, self._path

        def get_code(self, fullname):
            path = path_of(self.path) if isinstance(self.path, str) else None
            if path is None:
                return original(self, fullname)
            try:
                return files.setdefault(path, _Probed(path)).code(self.get_data(self.path), self.path)
            except (SyntaxError, ValueError, OSError):
                return original(self, fullname)

        loader.get_code = get_code

    def switch(self, case):
        self._flush()
        self._case = case

    def counts(self):
        """[(path, whether probed, {line: how often it ran})] of the files that were loaded, since the last call."""
        return [(file.path, file.probed, file.take()) for file in list(self._files.values()) if file.loaded]

    def loaded_paths(self):
        """The files that were loaded with probes or without them."""
        return [file.path for file in list(self._files.values()) if file.loaded]

    def _flush(self):
        for path, _, found in self.counts():
            self._add(path, found)
        for path, probed, found in self._children.read():
            self._files.setdefault(path, _Probed(path)).seen_by_child(probed)
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
        files = dict(self._files)
        for file in files.values():
            self._describe(file)
        for name in _module_files():
            path = self._path(name)
            if path is not None and not (path in files and files[path].loaded):
                self._report.add(
                    "file",
                    path=path,
                    loaded=True,
                    executable=swt_lines.executable_of_file(self._root + path)[0],
                    probed=False,
                    note="loaded by a way without probes",
                )

    def _describe(self, file):
        """A file that a child process alone loaded has no code here: its lines are read off the checkout."""
        if not file.loaded and file.in_child is not None:
            file.executable, file.note = swt_lines.executable_of_file(self._root + file.path)
        if file.loaded or file.in_child is not None:
            self._report.add(
                "file",
                path=file.path,
                loaded=True,
                executable=file.executable,
                probed=(file.probed or not file.loaded) and file.in_child is not False,
                note=file.note,
            )


def _module_files():
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return sorted({path for path in files if isinstance(path, str)})
