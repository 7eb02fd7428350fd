"""Django's own suite by its `tests/runtests.py`, a Django project by its `manage.py`: scripts whose results reach the
report through unittest's hooks."""

import os
import runpy
import sys
from itertools import groupby

import swt_unittest
from swt_order import order_of

_SCRIPT = "tests/runtests.py"
_MANAGE = "manage.py"
_DEFAULTS = ("--verbosity", "2", "--settings=test_sqlite")


def run(config, recorder, root):
    """(exit code, complaint). Versions 1.11 to 5; always in one process."""
    path, args = command(config["test_args"])
    script = os.path.join(root, path)
    folder = os.path.dirname(script)
    labels = swt_unittest.labels_of(config["files"], base=path[: -len(os.path.basename(path))])
    order = order_of(config)
    listener = swt_unittest.Listener(recorder, labels, arrange=lambda suite: mix(suite, order))
    swt_unittest.install(listener)
    _hook_case_call(listener)
    sys.argv = [script] + args + list(labels)
    sys.path.insert(0, folder)
    if os.path.basename(path) == _MANAGE:
        os.chdir(folder)  # settings of projects name files beside it
    runpy.run_path(script, run_name="__main__")
    return 0, ""


def command(test_args):
    """(path of the script in the checkout, its arguments). A project names its `manage.py` first; the options of
    Django's own script get `--parallel 1` where they do not say."""
    args = list(test_args)
    if args and os.path.basename(args[0]) == _MANAGE:
        return args[0], args[1:]
    args = args or list(_DEFAULTS)
    if not any(arg.startswith("--parallel") for arg in args):
        args += ["--parallel", "1"]
    return _SCRIPT, args


def mix(suite, order):
    """Bring the cases into an order, in place. Kinds of cases stay in the order that Django isolates them by: those
    that undo what they did to the database come before those that do not."""
    if not order.is_given:
        mixed = []
        for _, cases in groupby(sorted(swt_unittest.flatten(suite), key=_kind), key=_kind):
            kind = list(cases)
            order.arrange_groups(kind, _groups, type)
            mixed += kind
        suite._tests[:] = mixed


def _groups(case):
    return type(case).__module__, type(case).__qualname__


def _kind(case):
    runner = sys.modules.get("django.test.runner")
    kinds = runner.DiscoverRunner.reorder_by if runner else ()
    return next((number for number, kind in enumerate(kinds) if isinstance(case, kind)), len(kinds))


def _hook_case_call(listener):
    """Django prepares a case (fixtures, database, client) before `startTest`; that is part of its context too."""
    expect = listener.expect

    def expecting(suite):
        expect(suite)
        testcases = sys.modules.get("django.test.testcases")
        if testcases is not None and "__call__" in vars(testcases.SimpleTestCase):
            _wrap_call(testcases.SimpleTestCase, listener)

    listener.expect = expecting


def _wrap_call(case_class, listener):
    original = case_class.__call__

    def __call__(self, result=None):
        if result is not listener.result:
            return original(self, result)
        listener.enter(self, wide=True)
        try:
            return original(self, result)
        finally:
            listener.close(self)

    case_class.__call__ = __call__
