"""Which cases read which files: told by what is opened while they are collected and while they run.

CPython 3.6 to 3.13, standard library only. From 3.8 on an audit hook hears of every file that the process opens, from
Python and from C; before that, `open` and its relatives are wrapped. What a process of its own opens is not heard of:
then a case that names the file in its id, its parameters or its source is taken for the reader.
"""

import inspect
import io
import os
import re
import sys
import time

_WHOLE = 300  # so many cases of a module may depend on a file that is read once, while the module is collected
_LISTED = ("os.scandir", "os.listdir")


class Watch(object):
    """What is heard of the files of interest. `holder` is who is at work: a case, or a module that is collected."""

    def __init__(self, files, seconds):
        self.files = list(files)
        self.seconds = seconds
        self.holder = None
        self.opened = {}  # holder: files
        self.listed = set()  # holders that listed the folder of a file, or one above it
        self._paths = {os.path.realpath(path): path for path in files}
        self._folders = set()
        for path in self._paths:
            folder = os.path.dirname(path)
            while len(folder) > len(os.getcwd()):
                self._folders.add(folder)
                folder = os.path.dirname(folder)

    def start(self):
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(self._hear)
            return
        for module, name in ((__import__("builtins"), "open"), (io, "open"), (os, "open")):
            setattr(module, name, self._wrapped(getattr(module, name), "open"))
        for name in ("scandir", "listdir"):
            setattr(os, name, self._wrapped(getattr(os, name), "os." + name))

    def read_by(self, holder):
        """The files that a case or a module opened."""
        return sorted(self.opened.get(holder, ()))

    def unread(self, holders):
        """The files that none of these opened."""
        known = {path for holder in holders for path in self.opened.get(holder, ())}
        return [path for path in self.files if path not in known]

    def _wrapped(self, function, event):
        def heard(*args, **options):
            self._hear(event, args or (".",))
            return function(*args, **options)

        return heard

    def _hear(self, event, args):
        if self.holder is None or (event != "open" and event not in _LISTED):
            return
        try:
            path = os.path.realpath(os.fsdecode(args[0] if args and args[0] is not None else "."))
        except (TypeError, ValueError, OSError):
            return  # an open descriptor
        if event == "open":
            path = _source_of(path)
            if path in self._paths:
                self.opened.setdefault(self.holder, set()).add(self._paths[path])
        elif path in self._folders:
            self.listed.add(self.holder)


def _source_of(path):
    """`a/__pycache__/b.cpython-39.pyc` stands for `a/b.py`."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "__pycache__" and name.endswith(".pyc"):
        return os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")
    return path


def readers(watch, cases, run):
    """The cases that read files of interest: [{"case", "opened", "found_by"}].

    `cases` are (name, module, texts): all that a case says of itself. `run` runs some of them, by number. Those that
    name a file run first; the others of the modules that have to do with the files only if some file is still unread,
    and is not what a reader of another one has for another Python: `a.311.txt` beside `a.txt`.
    """
    named = {path: [i for i, case in enumerate(cases) if _names(case, path)] for path in watch.files}
    likely = sorted({i for found in named.values() for i in found})
    end = time.time() + watch.seconds
    run(likely, end)
    unread = watch.unread(case[0] for case in cases)
    if not all(any(watch.read_by(cases[i][0]) for i in named[path]) for path in unread):
        modules = {case[1] for case in cases}
        near = {module for module in modules if module in watch.listed or watch.read_by(module)}
        run([i for i, case in enumerate(cases) if i not in set(likely) and case[1] in (near or modules)], end)
    return _told(watch, cases, named)


def _told(watch, cases, named):
    found = {}
    for case in cases:
        opened = watch.read_by(case[0])
        if opened:
            found[case[0]] = {"case": case[0], "opened": opened, "found_by": "opened"}
    for path in watch.unread(list(found)):
        chosen, how = [cases[i] for i in named[path]], "named"
        if not chosen:
            modules = [holder for holder, files in watch.opened.items() if path in files]
            chosen, how = [case for case in cases if case[1] in modules], "module"
        for case in chosen if len(chosen) <= _WHOLE else ():
            row = found.setdefault(case[0], {"case": case[0], "opened": [], "found_by": how})
            row["opened"].append(path)
    return [found[name] for name in sorted(found)]


def _names(case, path):
    """Whether a case says the name of a file, with or without its suffix, as a word of its own."""
    base = os.path.basename(path)
    stem = base.split(".")[0]
    pattern = r"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])"
    identity, texts = case[2]
    if re.search(pattern % re.escape(base), " ".join(texts)):
        return True
    return len(stem) > 2 and re.search(pattern % re.escape(stem), identity) is not None


def texts_of_item(item):
    """What a pytest item says of itself: (its parameters' id, [the values of its parameters, its source])."""
    call = getattr(item, "callspec", None)
    texts = [text for value in getattr(call, "params", {}).values() for text in _texts(value)]
    return getattr(call, "id", "") or "", texts + [_source(getattr(item, "function", None))]


def _texts(value):
    if isinstance(value, (str, os.PathLike)):
        return [str(value)]
    inner = list(getattr(value, "__dict__", {}).values()) + (list(value) if isinstance(value, (list, tuple)) else [])
    return [str(one) for one in inner[:50] if isinstance(one, (str, os.PathLike))]


_SOURCES = {}


def _source(function):
    code = getattr(function, "__code__", None)
    if code not in _SOURCES:
        try:
            _SOURCES[code] = inspect.getsource(function)
        except (OSError, TypeError, IndentationError):
            _SOURCES[code] = ""
    return _SOURCES[code]
