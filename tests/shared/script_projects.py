"""Small stand-ins for sympy and Django with their own test scripts: path → text."""

SYMPY = {
    "bin/test": """
import sys
assert sys.argv[0].endswith("bin/test")
import sympy.testing.runtests as runtests
print("seed", sys.argv[sys.argv.index("--seed") + 1])
reporter = runtests.PyTestReporter()
tests = runtests.SymPyTests(reporter)
tests._testfiles.extend(tests.get_test_files("sympy") or sys.argv[5:])
tests.test(sort=True)
""",
    "sympy/__init__.py": "import os\nassert os.environ['SYMPY_USE_CACHE'] == 'no'\n",
    "sympy/core/__init__.py": "",
    "sympy/core/m.py": "def f():\n    return 1\n",
    "sympy/testing/__init__.py": "",
    "sympy/testing/runtests.py": """
import sys


class Skipped(Exception): pass
class XFail(Exception): pass
class XPass(Exception): pass


class PyTestReporter:
    def entering_filename(self, filename, n): print(filename, n)
    def leaving_filename(self): pass
    def entering_test(self, f): print(f.__name__, end=" ", flush=True)
    def test_pass(self, char="."): print("ok", flush=True)
    def test_fail(self, exc_info): print("F", flush=True)
    def test_skip(self, v): print("s", flush=True)
    def test_xfail(self): print("f", flush=True)
    def test_xpass(self, v): print("X", flush=True)
    def test_exception(self, exc_info): print("E", flush=True)
    def import_error(self, filename, exc_info): print("?")


class SymPyTests:
    def __init__(self, reporter): self._reporter, self._testfiles = reporter, []

    def test(self, sort=False):
        self._testfiles.sort()
        for filename in self._testfiles:
            self.test_file(filename)

    def get_test_files(self, folder): return []

    def test_file(self, filename):
        names = {"__file__": filename, "Skipped": Skipped, "XFail": XFail, "XPass": XPass}
        try:
            with open(filename) as source:
                exec(compile(source.read(), filename, "exec"), names)
        except ImportError:
            self._reporter.import_error(filename, sys.exc_info())
            return
        except Exception:
            self._reporter.test_exception(sys.exc_info())
        funcs = [names[name] for name in names if name.startswith("test_")]
        self._reporter.entering_filename(filename, len(funcs))
        for f in funcs:
            self._reporter.entering_test(f)
            try:
                f()
            except Exception:
                t, v, tr = sys.exc_info()
                if t is AssertionError: self._reporter.test_fail((t, v, tr))
                elif t is Skipped: self._reporter.test_skip(v)
                elif t is XFail: self._reporter.test_xfail()
                elif t is XPass: self._reporter.test_xpass(v)
                else: self._reporter.test_exception((t, v, tr))
            else:
                self._reporter.test_pass()
        self._reporter.leaving_filename()
""",
    "sympy/core/tests/test_x.py": """
from sympy.core.m import f
def test_passed(): f()
def test_failed(): assert 0
def test_error(): raise ValueError
def test_skipped(): raise Skipped("slow")
def test_xfailed(): raise XFail
def test_xpassed(): raise XPass("x")
""",
    "sympy/core/tests/test_bad.py": "def (\n",
    "test_new.py": "def test_passed(): pass\n",
}
"""A stand-in for sympy's script, runner and reporter, with the signatures of the real ones."""

DJANGO = {
    "tests/runtests.py": """
import sys, unittest
print(" ".join(sys.argv[1:]))
import django.test.testcases
from django.test.runner import DiscoverRunner
labels = [word for word in sys.argv[sys.argv.index("--parallel") + 2:] if word != "--reverse"]
loader = unittest.TestLoader()


def flat(suite):
    return [case for part in suite for case in flat(part)] if isinstance(suite, unittest.TestSuite) else [suite]


cases = flat(unittest.TestSuite([loader.loadTestsFromName(label) for label in labels]))
kind = DiscoverRunner.reorder_by[0]
suite = unittest.TestSuite(sorted(cases, key=lambda case: not isinstance(case, kind)))
result = unittest.TextTestRunner(verbosity=2).run(suite)
sys.exit(not result.wasSuccessful())
""",
    "django/__init__.py": "",
    "django/test/__init__.py": "",
    "django/test/testcases.py": """
import sys, unittest


class SimpleTestCase(unittest.TestCase):
    def __call__(self, result=None):
        try:
            self._pre_setup()
        except Exception:
            result.addError(self, sys.exc_info())
            return
        super().__call__(result)

    def _pre_setup(self):
        if "before" in self._testMethodName:
            raise ValueError("before startTest")
""",
    "django/test/runner.py": """
from django.test.testcases import SimpleTestCase


class DiscoverRunner:
    reorder_by = (SimpleTestCase,)
""",
    "tests/app/__init__.py": "",
    "tests/app/test_x.py": """
from django.test.testcases import SimpleTestCase


class A(SimpleTestCase):
    def test_passed(self): pass
    def test_before_start(self): pass
""",
    "tests/app/test_bad.py": "import nothing_of_that_name\n",
    "tests/test_odd__name-1.py": "import unittest\n\n\nclass B(unittest.TestCase):\n    def test_passed(self): pass\n",
}
"""A stand-in for Django's script: its cases do work before `startTest`, as the real ones do."""

DJANGO_PROJECT = {
    "manage.py": """
import os, sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_.settings")
    from django.core.management import execute_from_command_line
    execute_from_command_line(sys.argv)
""",
    "django/__init__.py": "",
    "django/core/__init__.py": "",
    "django/core/management.py": """
import importlib, os, sys, unittest
import django.test.testcases


def execute_from_command_line(argv):
    print(" ".join(argv[1:]))
    settings = importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"])
    assert argv[1] == "test" and settings.HERE == os.getcwd()
    loader = unittest.TestLoader()
    labels = argv[argv.index("--noinput") + 1:]
    suite = unittest.TestSuite([loader.loadTestsFromName(label) for label in labels])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful())
""",
    "django/test/__init__.py": "",
    "django/test/testcases.py": DJANGO["django/test/testcases.py"],
    "django/test/runner.py": DJANGO["django/test/runner.py"],
    "site_/__init__.py": "",
    "site_/settings.py": "import os\nHERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n",
    "shop/__init__.py": "",
    "shop/models.py": "def total():\n    return 1\n",
    "shop/tests.py": """
from django.test.testcases import SimpleTestCase
from shop.models import total


class ShopTests(SimpleTestCase):
    def test_total(self): self.assertEqual(total(), 1)
    def test_failed(self): self.assertEqual(total(), 2)
""",
    "shop/test_bad.py": "import nothing_of_that_name\n",
}
"""A stand-in for a project: a `manage.py` that names the settings, and Django's command for it."""
