"""One case alone, run by the runner's own adapters: the whole file is collected, and every other case left out.

It stands where the order of cases stands. The adapters themselves stay as they are: their source is part of the key
of every run in the store, so an option there would cost each of them anew.
"""

import difflib
import os
import unittest

import swt_django
import swt_pytest
import swt_start
import swt_sympy
import swt_unittest
from swt_recorder import Recorder

from swt_places import codes_of


class Only(object):
    """What an adapter takes for an order; `name_of(item)` is the case id, null for what holds cases."""

    is_given = is_reversed = is_shuffled = False

    def __init__(self, case, name_of, found):
        self._case = case
        self._name_of = name_of
        self._found = found
        self.others = []

    def arrange(self, items, class_of=None):
        items[:] = [item for item in items if self._keeps(item)]

    def arrange_groups(self, items, groups_of, class_of):
        self.arrange(items)

    def _keeps(self, item):
        name = self._name_of(item)
        if name == self._case:
            self._found(item)
        elif name is not None:
            self.others.append(name)
        return name is None or name == self._case

    def missing(self):
        """What is said where there was no such case."""
        near = difflib.get_close_matches(self._case, self.others[:5000], 5, 0.3)
        said = "there is no case %s" % self._case
        return said + ("; near it: %s" % ", ".join(near) if near else "; the file gave no cases")


class Rows(object):
    """Takes the place of the report: what adapters tell of the case goes to the debugger."""

    def __init__(self, debugger, case):
        self._debugger = debugger
        self._case = case
        self._pid = os.getpid()

    @property
    def ours(self):
        return os.getpid() == self._pid

    def add(self, kind, **fields):
        if kind in ("collected", "begin"):
            self._debugger.start()
        if kind == "case" and (fields["case"] == self._case or fields["phase"] == "collect"):
            told = "The test ended: %s" % fields["outcome"]
            if fields["outcome"] != "passed":
                told += " in %s\n%s" % (fields["phase"], fields["message"])
            if self._debugger.lost():
                told += "\n(the test put a trace function of its own in the place of the debugger's)"
            self._debugger.outcome = fields["outcome"]
            self._debugger.over(told)


def run(config, debugger):
    """Run the case that the configuration names. Never returns."""
    root, kind, case = os.getcwd(), config["kind"], config["case"]
    swt_start._stand_aside()
    swt_start._source_roots(config, root)
    recorder = Recorder(Rows(debugger, case), swt_start.NoTracer(), root)
    name_of, body_of = _KINDS[kind](recorder, debugger, config["files"][0])

    def found(item):
        codes = codes_of(body_of(item))
        name = case.partition("[")[0].replace("::", ".").rpartition(".")[2].partition("#")[0]
        debugger.enter([code for code in codes if code.co_name == name] or codes[-1:])

    only = Only(case, name_of, found)
    for module in (swt_pytest, swt_unittest, swt_django, swt_sympy):
        module.order_of = lambda config: only
    _, complaint = swt_start._guarded(swt_start._ADAPTERS[kind], config, recorder, root)
    debugger.over("The test never ran: %s" % (complaint or only.missing()))


def _pytest(recorder, debugger, path):
    watched = []

    def name_of(item):
        if not watched:
            watched.append(item.config.pluginmanager.register(Interactions(debugger), "swt-debugger"))
        rootdir = str(getattr(item.config, "rootdir", None) or getattr(item.config, "rootpath", "") or os.getcwd())
        path, sep, rest = item.nodeid.replace("::()::", "::").partition("::")
        return recorder.relative(os.path.join(rootdir, path)) + sep + rest

    return name_of, lambda item: getattr(item, "obj", None)


class Interactions(object):
    """Failures that leave fixtures, with the frames that they came through."""

    def __init__(self, debugger):
        self._debugger = debugger

    def pytest_exception_interact(self, call, report):
        if report.when in ("setup", "call", "teardown"):
            self._debugger.caught(call.excinfo.value, call.excinfo.tb)


def _unittest(recorder, debugger, path):
    def caught(result, test, *details):
        err = details[-1]
        if err is not None:
            debugger.caught(err[1], err[2])

    for name in ("addError", "addFailure", "addSubTest"):
        swt_unittest._hook(unittest.TestResult, name, caught)

    def name_of(part):
        return part.id() if isinstance(part, unittest.TestCase) and swt_unittest._unloadable(part) is None else None

    return name_of, lambda case: getattr(type(case), case._testMethodName, None)


def _sympy(recorder, debugger, path):
    seen = {}

    def name_of(item):
        """Files are brought into an order too; two cases of one name in a file are told apart as the adapter does."""
        if not callable(item):
            return None
        name = swt_sympy._name(item)
        seen[name] = count = seen.get(name, 0) + 1
        return "%s::%s%s" % (path, name, "" if count == 1 else "#%d" % count)

    return name_of, lambda function: function


_KINDS = {"pytest": _pytest, "unittest": _unittest, "django": _unittest, "sympy": _sympy}
