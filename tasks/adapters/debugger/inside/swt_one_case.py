"""One case alone under the debugger, run by the runner's own adapters."""

import os
import unittest

import swt_start
import swt_unittest
from swt_only import NAMES, Only, stand_in
from swt_recorder import Recorder

from swt_places import codes_of


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
    name_of, body_of = _KINDS[kind](debugger, NAMES[kind](recorder.relative))

    def found(item):
        codes = codes_of(body_of(item))
        name = case.partition("[")[0].replace("::", ".").rpartition(".")[2].partition("#")[0]
        debugger.enter([code for code in codes if code.co_name == name] or codes[-1:])

    only = Only([case], name_of, found)
    stand_in(only)
    _, complaint = swt_start._guarded(swt_start._ADAPTERS[kind], config, recorder, root)
    debugger.over("The test never ran: %s" % (complaint or only.missing()))


def _pytest(debugger, named):
    watched = []

    def name_of(item):
        if not watched:
            watched.append(item.config.pluginmanager.register(Interactions(debugger), "swt-debugger"))
        return named(item)

    return name_of, lambda item: getattr(item, "obj", None)


class Interactions(object):
    """Failures that leave fixtures, with the frames that they came through."""

    def __init__(self, debugger):
        self._debugger = debugger

    def pytest_exception_interact(self, call, report):
        if report.when in ("setup", "call", "teardown"):
            self._debugger.caught(call.excinfo.value, call.excinfo.tb)


def _unittest(debugger, named):
    def caught(result, test, *details):
        err = details[-1]
        if err is not None:
            debugger.caught(err[1], err[2])

    for name in ("addError", "addFailure", "addSubTest"):
        swt_unittest._hook(unittest.TestResult, name, caught)

    return named, lambda case: getattr(type(case), case._testMethodName, None)


def _sympy(debugger, named):
    return named, lambda function: function


_KINDS = {"pytest": _pytest, "unittest": _unittest, "django": _unittest, "sympy": _sympy}
