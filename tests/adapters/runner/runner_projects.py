"""Projects that the tests run: path → text."""

MODULE = '''"""Doc."""


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return (
        0
    )
'''

UNITTEST = {
    "pkg/__init__.py": "",
    "pkg/mod.py": MODULE,
    "tests/test_all.py": '''
import os
import unittest
from pkg.mod import sign


class Plain(unittest.TestCase):
    def test_passed(self):
        """First line.

        Second."""
        self.assertEqual(sign(1), 1)

    def test_failed(self):
        self.assertEqual(sign(0), 5)

    def test_error(self):
        raise KeyError("\\udc80 caf\\xe9")

    @unittest.skip("why")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_xfailed(self):
        self.fail()

    @unittest.expectedFailure
    def test_xpassed(self):
        pass

    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    def test_subtest_skipped(self):
        with self.subTest(i=1):
            self.skipTest("part")


class SetUp(unittest.TestCase):
    def setUp(self):
        raise ValueError

    def test_it(self):
        pass


class TearDown(unittest.TestCase):
    def tearDown(self):
        raise ValueError

    def test_it(self):
        pass


class Cleanup(unittest.TestCase):
    def test_it(self):
        self.addCleanup(int, "x")


class ClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no class")

    def test_one(self):
        pass

    def test_two(self):
        pass


class ClassSkipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("not here")

    def test_one(self):
        pass


class ClassTearDown(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise ValueError("late")

    def test_one(self):
        pass


class Inner(unittest.TestCase):
    def test_nested_results_are_not_ours(self):
        class Hidden(unittest.TestCase):
            def test_hidden(self):
                self.fail()

        unittest.TextTestRunner(stream=open(os.devnull, "w")).run(
            unittest.defaultTestLoader.loadTestsFromTestCase(Hidden)
        )
''',
    "tests/test_module_setup.py": """
import unittest


def setUpModule():
    raise ValueError("no module")


class A(unittest.TestCase):
    def test_one(self):
        pass
""",
    "tests/test_import.py": "import nothing_of_that_name\n",
    "tests/test_syntax.py": "def (\n",
    "tests/test_name.py": "undefined_name\n",
    "tests/test_skip_all.py": "import unittest\nraise unittest.SkipTest('no')\n",
}

UNITTEST_OUTCOMES = {
    "tests.test_all.Plain.test_passed": "passed/call",
    "tests.test_all.Plain.test_failed": "failed/call",
    "tests.test_all.Plain.test_error": "error/call",
    "tests.test_all.Plain.test_skipped": "skipped/call",
    "tests.test_all.Plain.test_xfailed": "xfailed/call",
    "tests.test_all.Plain.test_xpassed": "xpassed/call",
    "tests.test_all.Plain.test_subtests": "failed/call",
    "tests.test_all.Plain.test_subtest_skipped": "skipped/call",
    "tests.test_all.SetUp.test_it": "error/setup",
    "tests.test_all.TearDown.test_it": "error/teardown",
    "tests.test_all.Cleanup.test_it": "error/teardown",
    "tests.test_all.ClassSetUp.test_one": "error/setup",
    "tests.test_all.ClassSetUp.test_two": "error/setup",
    "tests.test_all.ClassSkipped.test_one": "skipped/setup",
    "tests.test_all.ClassTearDown.test_one": "passed/call",
    "tests.test_all.ClassTearDown.tearDownClass": "error/teardown",
    "tests.test_all.Inner.test_nested_results_are_not_ours": "passed/call",
    "tests.test_module_setup.A.test_one": "error/setup",
    "tests/test_import.py": "error/collect",
    "tests/test_syntax.py": "error/collect",
    "tests/test_name.py": "error/collect",
    "tests/test_skip_all.py": "skipped/collect",
}

PYTEST = {
    "pkg/__init__.py": "",
    "pkg/mod.py": MODULE,
    "tests/test_all.py": """
import pytest
import unittest
from pkg.mod import sign


@pytest.fixture
def broken():
    raise ValueError("set-up")


@pytest.fixture
def breaks_late():
    yield
    raise ValueError("teardown")


def test_passed():
    assert sign(1) == 1


def test_failed():
    assert sign(0) == 5


def test_error(broken):
    pass


def test_teardown(breaks_late):
    pass


def test_failed_and_teardown(breaks_late):
    assert 0


def test_skipped():
    pytest.skip("why")


@pytest.mark.skip(reason="marked")
def test_marked():
    pass


@pytest.mark.xfail(reason="known")
def test_xfailed():
    assert 0


@pytest.mark.xfail
def test_xpassed():
    pass


@pytest.mark.xfail(strict=True)
def test_strict():
    pass


@pytest.mark.parametrize("x", ["a::b", "c[d]"])
def test_params(x):
    pass


class TestClass:
    def test_method(self):
        assert sign(-1) == -1


class Unit(unittest.TestCase):
    def test_method(self):
        pass
""",
    "tests/test_import.py": "import nothing_of_that_name\n",
    "tests/test_syntax.py": "def (\n",
    "tests/test_skip_all.py": "import pytest\npytest.importorskip('nothing_of_that_name')\n",
}

PYTEST_OUTCOMES = {
    "tests/test_all.py::test_passed": "passed/call",
    "tests/test_all.py::test_failed": "failed/call",
    "tests/test_all.py::test_error": "error/setup",
    "tests/test_all.py::test_teardown": "error/teardown",
    "tests/test_all.py::test_failed_and_teardown": "failed/call",
    "tests/test_all.py::test_skipped": "skipped/call",
    "tests/test_all.py::test_marked": "skipped/setup",
    "tests/test_all.py::test_xfailed": "xfailed/call",
    "tests/test_all.py::test_xpassed": "xpassed/call",
    "tests/test_all.py::test_strict": "failed/call",
    "tests/test_all.py::test_params[a::b]": "passed/call",
    "tests/test_all.py::test_params[c[d]]": "passed/call",
    "tests/test_all.py::TestClass::test_method": "passed/call",
    "tests/test_all.py::Unit::test_method": "passed/call",
    "tests/test_import.py": "error/collect",
    "tests/test_syntax.py": "error/collect",
    "tests/test_skip_all.py": "skipped/collect",
}

SYMPY = {
    "bin/test": """
import sys
assert sys.argv[0].endswith("bin/test")
import sympy.testing.runtests as runtests
print("seed", sys.argv[sys.argv.index("--seed") + 1])
reporter = runtests.PyTestReporter()
tests = runtests.SymPyTests(reporter)
tests._testfiles.extend(tests.get_test_files("sympy"))
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
    def entering_test(self, f): print(f.__name__)
    def test_pass(self, char="."): print("ok")
    def test_fail(self, exc_info): print("F")
    def test_skip(self, v): print("s")
    def test_xfail(self): print("f")
    def test_xpass(self, v): print("X")
    def test_exception(self, exc_info): print("E")
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
