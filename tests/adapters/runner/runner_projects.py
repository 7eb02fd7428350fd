"""Projects of pytest and unittest that the tests run: path → text."""

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
