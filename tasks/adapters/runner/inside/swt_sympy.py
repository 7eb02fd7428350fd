"""sympy 0.7 to 1.13: its `bin/test`, run as a script, with a reporter that tells us what it hears."""

import importlib
import os
import runpy
import sys
import traceback

from swt_order import order_of

_SCRIPT = "bin/test"


def run(config, recorder, root):
    """(exit code, complaint). The files need not lie in a package; the script's own options stay in force."""
    args = list(config["test_args"])
    _environment(args)
    script = os.path.join(root, _SCRIPT)
    sys.path[0:0] = [os.path.dirname(script), root]
    sys.path[0:2] = [root, os.path.dirname(script)]
    runtests = _runtests()
    order = order_of(config)
    runtests.PyTestReporter = reporting(runtests.PyTestReporter, recorder, order)
    files = [os.path.join(root, path) for path in config["files"]]
    _hook_files(runtests.SymPyTests, recorder, order)
    runtests.SymPyTests.get_test_files = lambda self, *rest, **options: list(files)
    if config.get("seed") is not None and "--seed" not in args:
        args += ["--seed", str(config["seed"])]
    sys.argv = [script] + args
    runpy.run_path(script, run_name="__main__")
    return 0, ""


def _environment(args):
    """What the script sets before it imports sympy; we import sympy before it runs."""
    if "-C" in args or "--no-cache" in args:
        os.environ["SYMPY_USE_CACHE"] = "no"
    os.environ.setdefault("PYTHONHASHSEED", "0")


def _runtests():
    try:
        return importlib.import_module("sympy.testing.runtests")
    except ImportError:
        return importlib.import_module("sympy.utilities.runtests")


def _hook_files(tests, recorder, order):
    """The runner sorts the files that it was given right before it goes through them."""
    original, original_file = tests.test, tests.test_file

    def test_file(self, filename, *args, **options):
        done = original_file(self, filename, *args, **options)
        recorder.collected([], [recorder.relative(filename)])
        return done

    def test(self, *args, **options):
        if not order.is_given:
            self._testfiles = Kept(sorted(self._testfiles))
            order.arrange(self._testfiles)
        done = original(self, *args, **options)
        recorder.over = True
        return done

    tests.test, tests.test_file = test, test_file


class Kept(list):
    """A list that stays in the order that it is in."""

    def sort(self, *args, **options):
        pass


def reporting(base, recorder, order):
    """A subclass of sympy's reporter that also writes rows."""

    class Reporter(base):
        _case = None
        _file = ""
        _seen = ()

        def entering_filename(self, filename, n):
            self._file, self._seen = recorder.relative(filename), {}
            recorder.collected([self._step(name) for name in _turn(sys._getframe(1), order)], [self._file])
            self._seen = {}
            return base.entering_filename(self, filename, n)

        def _step(self, name):
            """(case, path, qualname, place) of the next case of that name: sympy allows several in one file."""
            self._seen[name] = count = self._seen.get(name, 0) + 1
            case = "%s::%s%s" % (self._file, name, "" if count == 1 else "#%d" % count)
            return (case, self._file, name, count - 1)

        def entering_test(self, f):
            self._case = self._step(_name(f))
            recorder.begin(self._case[0])
            return base.entering_test(self, f)

        def _settle(self, outcome, message=""):
            case, path, name, _ = self._case
            duration = recorder.elapsed()
            recorder.leave()
            recorder.case(case, path, name, name, (outcome, "call", message), duration)
            self._case = None

        def test_pass(self, *args, **kwargs):
            self._settle("passed")
            return base.test_pass(self, *args, **kwargs)

        def test_fail(self, exc_info):
            self._settle("failed", _text(exc_info))
            return base.test_fail(self, exc_info)

        def test_skip(self, v):
            self._settle("skipped", str(v))
            return base.test_skip(self, v)

        def test_xfail(self):
            self._settle("xfailed")
            return base.test_xfail(self)

        def test_xpass(self, v):
            self._settle("xpassed", str(v))
            return base.test_xpass(self, v)

        def test_exception(self, exc_info):
            if self._case is None:
                _uncollected(recorder, _executed_file(exc_info), exc_info)
            else:
                self._settle("error", _text(exc_info))
            return base.test_exception(self, exc_info)

        def import_error(self, filename, exc_info):
            _uncollected(recorder, filename, exc_info)
            return base.import_error(self, filename, exc_info)

    Reporter.__name__ = base.__name__
    return Reporter


def _turn(frame, order):
    """Bring the cases that the runner is about to go through into order: a list of its frame, sorted by then.

    Returns their names.
    """
    cases = frame.f_locals.get("funcs")
    if not isinstance(cases, list):
        return []
    order.arrange(cases)
    return [_name(case) for case in cases]


def _name(case):
    return getattr(case, "__name__", "test")


def _uncollected(recorder, filename, exc_info):
    outcome = "skipped" if exc_info[0].__name__ == "Skipped" else "error"
    recorder.uncollected(recorder.relative(filename), _text(exc_info), outcome)


def _executed_file(exc_info):
    """The test file that was being executed: a local of the runner's frame, for a syntax error has no frame there."""
    entry, found = exc_info[2], ""
    while entry is not None and not found:
        found = entry.tb_frame.f_locals.get("filename", "") if entry.tb_frame.f_code.co_name == "test_file" else ""
        entry = entry.tb_next
    return found


def _text(exc_info):
    return "".join(traceback.format_exception(*exc_info))
