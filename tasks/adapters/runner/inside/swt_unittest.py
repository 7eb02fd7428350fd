"""unittest, through the hooks of its own result, suite and loader classes; Django's runner rides on the same hooks."""

import os
import re
import sys
import traceback
import unittest
from unittest import loader as _loader
from unittest import result as _result
from unittest import suite as _suite

from swt_order import order_of
from swt_recorder import Places, worst, written_name

_HOLDER = re.compile(r"(setUpClass|tearDownClass|setUpModule|tearDownModule) \((.+)\)\Z")
_CASE_FILE = os.path.normcase(unittest.case.__file__)
_STEPS = {
    "_callSetUp": "setup",
    "_callTearDown": "teardown",
    "_callTestMethod": "call",
    "doCleanups": "teardown",
    "setUp": "setup",
    "_pre_setup": "setup",
    "tearDown": "teardown",
    "_post_teardown": "teardown",
}


def run(config, recorder, root):
    """`python -m unittest` on the files as dotted names."""
    labels = labels_of(config["files"])
    sys.argv = ["python -m unittest"] + list(config["test_args"]) + list(labels)
    if root not in sys.path:
        sys.path.insert(0, root)
    order = order_of(config)
    install(Listener(recorder, labels, arrange=lambda suite: turn(suite, order)))
    program = unittest.main(module=None, argv=sys.argv, exit=False)
    return (0 if program.result.wasSuccessful() else 1), ""


def labels_of(files, base=""):
    """{dotted name: file}; `base` is the folder that the names start from."""
    labels = {}
    for path in files:
        name = path[len(base) :] if base and path.startswith(base) else path
        name = re.sub(r"(/__init__)?\.py\Z", "", name)
        labels[name.replace("/", ".")] = path
    return labels


def install(listener):
    """Listen to the first result object that a suite is run with; results that tests make for themselves pass by."""
    _hook_outcomes(listener)
    _hook_suite(listener)
    _hook_loader(listener)


def _hook(owner, name, before):
    """Call `before(self, *args)` ahead of the method."""
    original = getattr(owner, name)

    def method(self, *args, **kwargs):
        before(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    method.__name__, method.__doc__, method.__wrapped__ = name, original.__doc__, original
    setattr(owner, name, method)


def _hook_outcomes(listener):
    def only_main(tell):
        return lambda result, *args, **kwargs: tell(*args, **kwargs) if result is listener.result else None

    for name, tell in (
        ("startTest", listener.start),
        ("stopTest", listener.stop),
        ("addSuccess", listener.success),
        ("addFailure", listener.failure),
        ("addError", listener.error),
        ("addSkip", listener.skip),
        ("addExpectedFailure", listener.expected_failure),
        ("addUnexpectedSuccess", listener.unexpected_success),
        ("addSubTest", listener.subtest),
    ):
        _hook(_result.TestResult, name, only_main(tell))


def _hook_suite(listener):
    original = _suite.TestSuite.run

    def run(self, result, *args, **kwargs):
        if listener.result is not None:
            return original(self, result, *args, **kwargs)
        listener.result = result
        listener.expect(self)
        listener.arrange(self)
        listener.announce()
        done = original(self, result, *args, **kwargs)
        listener.over()
        return done

    run.__doc__, run.__wrapped__ = original.__doc__, original
    _suite.TestSuite.run = run
    _hook_teardown(listener, "_tearDownPreviousClass", "tearDownClass", _strclass)
    _hook_teardown(listener, "_handleModuleTearDown", "tearDownModule", lambda cls: cls.__module__)


def _hook_teardown(listener, name, step, owner):
    """Say that a teardown of a class or module runs, in case that it ends more than itself."""
    original = getattr(_suite.TestSuite, name)

    def method(self, *args):
        previous = getattr(args[-1], "_previousTestClass", None)
        if args[-1] is not listener.result or previous in (None, type(args[0])):
            return original(self, *args)
        listener.tear_down(owner(previous), step)
        done = original(self, *args)
        listener.torn_down()
        return done

    method.__name__, method.__doc__, method.__wrapped__ = name, original.__doc__, original
    setattr(_suite.TestSuite, name, method)


def _hook_loader(listener):
    """An import that fails in any way costs its own module only, as it does under discovery."""
    original = _loader.TestLoader.loadTestsFromName

    def loadTestsFromName(self, name, module=None):
        try:
            return original(self, name, module)
        except (Exception, SystemExit) as error:
            if listener.result is not None or name not in listener.labels:
                raise
            return _stand_in(self, name, error)

    _loader.TestLoader.loadTestsFromName = loadTestsFromName


def _stand_in(loader, name, error):
    if isinstance(error, unittest.SkipTest):
        return _loader._make_skipped_test(name, error, loader.suiteClass)
    made = _loader._make_failed_import_test(name, loader.suiteClass)
    return made[0] if isinstance(made, tuple) else made


def turn(suite, order):
    """Bring nested suites into an order, in place; cases of one class stay together."""
    if isinstance(suite, _suite.BaseTestSuite):
        order.arrange(suite._tests, class_of)
        for part in suite._tests:
            turn(part, order)


def class_of(part):
    """The class of a case; null for a suite of several."""
    return None if isinstance(part, _suite.BaseTestSuite) else type(part)


def flatten(suite):
    """The cases of nested suites, in order."""
    if not isinstance(suite, _suite.BaseTestSuite):
        return [suite]
    return [case for part in suite if part is not None for case in flatten(part)]


class Listener(object):
    """Result calls in, rows out."""

    def __init__(self, recorder, labels, arrange):
        self.result = None
        self.arrange = arrange
        self.labels = labels
        self._recorder = recorder
        self._cases = []
        self._places = Places()
        self._wide = False
        self._verdict = None
        self._open = None

    def expect(self, suite):
        """Remember the collected cases: a class whose set-up fails reports none of them."""
        self._cases = [case for case in flatten(suite) if isinstance(case, unittest.TestCase)]
        for case in self._cases:
            self._places.add(case.id(), self._path(case), _qualname(case))

    def announce(self):
        """Say what is going to run, once its order is settled."""
        cases = [case for case in self._cases if _unloadable(case) is None]
        self._recorder.collected([self._places.of(case.id()) for case in cases], list(self.labels.values()))

    def over(self):
        """The whole suite has run."""
        self._recorder.over = True

    def tear_down(self, owner, step):
        name = owner + "." + step
        self._recorder.shared((name, self._path_of_name(owner), name[len(_module(owner)) :].lstrip(".")))

    def torn_down(self):
        self._recorder.shared()

    def start(self, test):
        if self._open is not test:
            self.enter(test)

    def enter(self, test, wide=False):
        """Open the case; a `wide` one stays open until `close`, for what Django does around unittest's own steps."""
        self._open, self._verdict, self._wide = test, None, wide
        if _unloadable(test) is None:
            self._recorder.begin(test.id())

    def stop(self, test):
        """CPython 3.12.1 stops skipped cases that it never started."""
        if test is self._open and not self._wide:
            self.close(test)

    def close(self, test):
        """Write the row of the open case."""
        duration = self._recorder.elapsed()
        self._recorder.leave()
        if self._verdict is None:
            self._write(test, ("error", "call", _unreported()), duration, printed=False)
        else:
            self._write(test, self._verdict, duration)
        self._open = self._verdict = None

    def success(self, test):
        self._settle(test, ("passed", "call", ""))

    def failure(self, test, err):
        self._settle(test, ("failed", phase_of(err), text_of(err)))

    def error(self, test, err):
        self._settle(test, ("error", phase_of(err), text_of(err)))

    def skip(self, test, reason):
        self._settle(test, ("skipped", "call", str(reason)))

    def expected_failure(self, test, err):
        self._settle(test, ("xfailed", "call", text_of(err)))

    def unexpected_success(self, test):
        self._settle(test, ("xpassed", "call", ""))

    def subtest(self, test, subtest, err):
        if err is None:
            return
        outcome = "failed" if issubclass(err[0], test.failureException) else "error"
        self._settle(test, (outcome, phase_of(err), "%s\n%s" % (subtest, text_of(err))))

    def _settle(self, test, verdict):
        test = getattr(test, "test_case", test)
        if isinstance(test, _suite._ErrorHolder):
            self._settle_group(test.description, verdict)
        elif test is self._open:
            self._verdict = verdict if self._verdict is None else worst(verdict, self._verdict)
        else:
            self._write(test, verdict, None)

    def _settle_group(self, description, verdict):
        """A class or module fixture: its set-up decides every case below, its teardown is a row of its own."""
        found = _HOLDER.match(description)
        step, owner = found.groups() if found else (description, "")
        outcome, _, message = verdict
        if step.startswith("setUp"):
            for case in self._cases:
                if owner in (_strclass(type(case)), type(case).__module__):
                    self._write(case, (outcome, "setup", message), None)
            return
        name = owner + "." + step if owner else step
        path = self._path_of_name(owner)
        self._recorder.case(
            name, path, name[len(_module(owner)) :].lstrip("."), name, (outcome, "teardown", message), None
        )

    def _path_of_name(self, owner):
        for case in self._cases:
            if owner in (_strclass(type(case)), type(case).__module__):
                return self._path(case)
        return owner

    def _path(self, test):
        return self._recorder.relative(getattr(sys.modules.get(type(test).__module__), "__file__", None) or "")

    def _write(self, test, verdict, duration, printed=True):
        name = _unloadable(test)
        if name is not None:
            outcome, _, message = verdict
            self._recorder.uncollected(self._file_of(name), message, outcome)
            return
        label = label_of(test) if printed else ""
        self._recorder.case(test.id(), self._path(test), _qualname(test), label, verdict, duration)

    def _file_of(self, name):
        """The file of a module that could not be loaded: unittest may know it by its last part only."""
        for label, path in self.labels.items():
            if label == name or label.endswith("." + name):
                return path
        return name


def _qualname(test):
    name = getattr(test, "_testMethodName", "runTest")
    return "%s.%s" % (type(test).__qualname__, written_name(getattr(type(test), name, None), name))


def _unreported():
    """Why a case has ended without a result: what is on its way up, or nothing that can be seen."""
    kind = sys.exc_info()[0]
    return "interrupted: %s" % kind.__name__ if kind else "it ended without any result"


def _module(owner):
    """The longest known module that the dotted name `owner` starts with."""
    while owner and owner not in sys.modules:
        owner = owner.rpartition(".")[0]
    return owner


def _unloadable(test):
    """The module's name where `test` stands for a module that could not be loaded; else null."""
    kind = type(test)
    if kind.__module__ == "unittest.loader" and kind.__name__ in ("_FailedTest", "ModuleSkipped"):
        return test._testMethodName
    return None


def _strclass(cls):
    return "%s.%s" % (cls.__module__, cls.__qualname__)


def label_of(test):
    """`test_y (mod.Class)`, and the first line of its docstring below, as verbose runners print them."""
    method = getattr(test, "_testMethodName", None)
    if method is None or _strclass(type(test)).startswith(("unittest.", "doctest.")):
        return str(test)
    label = "%s (%s)" % (method, _strclass(type(test)))
    doc = test.shortDescription()
    return "%s\n%s" % (label, doc) if doc else label


def phase_of(err):
    """Which step of a case raised, read from its traceback: the first frame with a telling name."""
    entry = err[2]
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_name in _STEPS:
            return _STEPS[code.co_name]
        if os.path.normcase(code.co_filename) != _CASE_FILE and code.co_name not in ("__call__", "_setup_and_call"):
            return "call"
        entry = entry.tb_next
    return "call"


def text_of(err):
    """The traceback, without unittest's own frames at its top."""
    kind, value, entry = err
    while entry is not None and os.path.normcase(entry.tb_frame.f_code.co_filename) == _CASE_FILE and entry.tb_next:
        entry = entry.tb_next
    try:
        return "".join(traceback.format_exception(kind, value, entry))
    except Exception as error:
        return "%s (no traceback: %r)" % (kind, error)
