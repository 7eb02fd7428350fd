"""What of a candidate is executed, and why some are not well-formed."""

from dataclasses import replace

import pytest
from domain_rows import candidate_row, task_instance

from tasks.adapters.patch.model import Refused
from tasks.domain.candidate import Candidate, Suite
from tasks.domain.outcome import Policy, SuiteKind
from tasks.evaluate.intake.patch_filter import SubmissionDecision, golden_suite, submit

BASE = {
    "src/x.py": b"a\n",
    "tests/test_old.py": b"def test_a():\n    pass\n",
    "tests/models.py": b"a\n",
    "tests/test_sqlite.py": b"DATABASES = {}\n",
    "lib/test/client.py": b"a\n",
}


def edit(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"


def new(path: str, line: str = "def test_b(): pass") -> str:
    return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"


TESTS = new("tests/test_new.py")
IN_OLD = "--- a/tests/test_old.py\n+++ b/tests/test_old.py\n@@ -1,2 +1,2 @@\n def test_a():\n-    pass\n+    assert 0\n"
LINK = "diff --git a/tests/l b/tests/l\nnew file mode 120000\n--- /dev/null\n+++ b/tests/l\n@@ -0,0 +1 @@\n+/etc\n"
MODE_OF_A_LINK = "diff --git a/tests/test_old.py b/tests/test_old.py\nold mode 100644\nnew mode 120000\n"
BINARY = "diff --git a/tests/x.png b/tests/x.png\nBinary files a/tests/x.png and b/tests/x.png differ\n"


def candidate(patch: str) -> Candidate:
    return candidate_row(patch=patch)


def rule(patch: str, policy: Policy = Policy.TESTS_ONLY, golden: Suite | None = None) -> SubmissionDecision:
    return submit(candidate(patch), golden, policy, BASE.get)


def golden(test_patch: str) -> Suite:
    suite = golden_suite(task_instance(test_patch=test_patch), BASE.get)
    assert not isinstance(suite, Refused)
    return suite


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "empty"),
        ("I could not do it.", "no-diff"),
        (new("../x.py"), "climbing-path"),
        ("".join(new(f"tests/test_{number}.py") for number in range(501)), "too-large"),
        (new("tests/test_new.py", "#" * 2_000_000), "too-large"),
        (TESTS + new("tests/.git/hooks/x.py"), "climbing-path"),
        (new("tests/" + "x" * 300 + ".py"), "climbing-path"),
        (new("tests/" + "x/" * 2000 + "test_x.py"), "climbing-path"),
        (new("tests/a.py") + new("tests/a.py/test_b.py"), "already-exists"),
        (edit("src/x.py"), "nothing-left"),
        (edit("tests/models.py"), "no-test-file"),
        (new("tests/data.json", "{}"), "no-test-file"),
        (new("tests/test_old.py"), "already-exists"),
        (edit("tests/test_none.py"), "no-such-file"),
        (edit("tests/test_old.py"), "does-not-apply"),
    ],
)
def test_not_well_formed(patch: str, reason: str) -> None:
    ruling = rule(patch)
    assert ruling.suite is None
    assert (ruling.submission.well_formed, ruling.submission.reason, ruling.submission.rung) == (False, reason, "")
    assert ruling.submission.suite_id is None


@pytest.mark.parametrize(
    ("extra", "stripped"),
    [
        (edit("src/x.py"), "src/x.py: not-a-test-file"),
        (edit("lib/test/client.py"), "lib/test/client.py: not-a-test-file"),
        (new("src/contest/latest.py"), "src/contest/latest.py: not-a-test-file"),
        (new("conftest.py", "def pytest_runtest_makereport(): pass"), "conftest.py: conftest"),
        (new("tests/conftest.py", "from hooks import *"), "tests/conftest.py: conftest"),
        (2 * new("tests/conftest.py", "HOST = 'a'"), ("tests/conftest.py: conftest",) * 2),
        (new("tests/pytest.ini"), "tests/pytest.ini: runner-configuration"),
        (new("pyproject.toml"), "pyproject.toml: runner-configuration"),
        (new("tests/runtests.py"), "tests/runtests.py: runner-configuration"),
        (edit("tests/test_sqlite.py"), "tests/test_sqlite.py: runner-configuration"),
        (new("setup.py"), "setup.py: packaging"),
        (new("tests/sitecustomize.py"), "tests/sitecustomize.py: packaging"),
        (new("tests/x.pth"), "tests/x.pth: packaging"),
        (new("tests/CONFTEST.py", "import os; os.chdir('/')"), "tests/CONFTEST.py: conftest"),
        (new("tests/usercustomize.py"), "tests/usercustomize.py: packaging"),
        (new("tests/larder.dist-info/METADATA"), "tests/larder.dist-info/METADATA: packaging"),
        (new("tests/x.egg-link"), "tests/x.egg-link: packaging"),
        (new("tests/__pycache__/test_new.py"), "tests/__pycache__/test_new.py: packaging"),
        (new("tests/unittest.py"), "tests/unittest.py: takes-a-place"),
        (new("tests/_pytest/nodes.py"), "tests/_pytest/nodes.py: takes-a-place"),
        (new("tests/swt_report.py"), "tests/swt_report.py: takes-a-place"),
        (new("tests/random.py"), "tests/random.py: takes-a-place"),
        (MODE_OF_A_LINK, "tests/test_old.py: link"),
        (new("requirements/dev.in"), "requirements/dev.in: not-a-test-file"),
        (LINK, "tests/l: link"),
        (BINARY, "tests/x.png: binary"),
    ],
)
def test_what_tests_only_takes_out(extra: str, stripped: str | tuple[str, ...]) -> None:
    ruling = rule(extra + TESTS)
    assert ruling.submission.stripped == ((stripped,) if isinstance(stripped, str) else stripped)
    assert ruling.suite is not None
    assert ruling.suite.files == ("tests/test_new.py",)
    assert ruling.suite.suite_id == rule(TESTS).submission.suite_id


def test_helpers_keep_the_names_that_they_had_at_the_base_commit() -> None:
    ruling = rule(edit("tests/json.py") + TESTS)
    assert ruling.submission.reason == "no-such-file"
    assert rule(new("tests/test.py")).submission.stripped == ()
    assert rule(new("tests/json_helper.py") + TESTS).submission.stripped == ()


def test_a_move_out_of_the_source_is_taken_out() -> None:
    moved = "diff --git a/src/x.py b/tests/test_x.py\nrename from src/x.py\nrename to tests/test_x.py\n"
    assert rule(moved).submission.reason == "nothing-left"


def test_as_submitted_applies_everything_but_links_and_binaries() -> None:
    ruling = rule(edit("src/x.py") + new("conftest.py") + TESTS, Policy.AS_SUBMITTED)
    assert ruling.submission.stripped == ()
    assert ruling.suite is not None
    assert ruling.suite.files == ("tests/test_new.py",)
    assert "src/x.py" in ruling.suite.patch
    assert rule(LINK + TESTS, Policy.AS_SUBMITTED).submission.reason == "link"
    assert rule(BINARY + TESTS, Policy.AS_SUBMITTED).submission.reason == "binary"
    assert rule(new("/etc/test_x.py"), Policy.AS_SUBMITTED).submission.reason == "climbing-path"


def test_files_that_run_and_those_of_the_base_commit() -> None:
    suite = rule(TESTS + IN_OLD + edit("tests/models.py") + new("tests/pkg/__init__.py", "")).suite
    assert suite is not None
    assert suite.files == ("tests/test_new.py", "tests/test_old.py")
    assert suite.base_files == ("tests/test_old.py",)
    assert suite.kind is SuiteKind.CANDIDATE


def test_a_file_that_defines_tests_runs_whatever_its_name() -> None:
    suite = rule(new("tests/reproduce.py")).suite
    assert suite is not None
    assert suite.files == ("tests/reproduce.py",)


def test_a_helper_with_a_function_called_test_is_no_test_file() -> None:
    """A decorator's example for type checkers, as attrs has it: it cannot be imported, and no runner is meant to."""
    example = new("tests/typing_example.py", "@check\ndef test(cls: type) -> None: ...\nraise Error(1)\n")
    suite = rule(TESTS + example).suite
    assert suite is not None
    assert suite.files == ("tests/test_new.py",)


def test_equal_changes_are_one_suite_however_they_are_written() -> None:
    written = [
        TESTS,
        "```diff\n" + TESTS + "```\n",
        "--- /dev/null\n+++ b/tests/test_new.py\n@@ -0,0 +1,7 @@\n+def test_b(): pass\n",
    ]
    rulings = [rule(patch) for patch in written]
    assert len({ruling.submission.suite_id for ruling in rulings}) == 1
    assert [ruling.submission.rung for ruling in rulings] == ["exact", "exact", "recount"]


def test_line_endings_that_were_tidied_are_told() -> None:
    ruling = rule(TESTS.replace("\n", "\r\n"))
    assert ruling.submission.suite_id == rule(TESTS).submission.suite_id
    assert "CRLF" in ruling.submission.detail


def test_golden_tests_are_never_stripped_whoever_submits_them() -> None:
    whole = TESTS + new("tests/conftest.py", "x = 1") + edit("src/x.py")
    reference = golden(whole)
    assert reference.kind is SuiteKind.GOLDEN
    ruling = rule(whole, golden=reference)
    assert ruling.suite == reference
    assert ruling.submission.stripped == ()
    other = rule(TESTS, golden=reference)
    assert other.suite is not None
    assert other.suite.kind is SuiteKind.CANDIDATE


def test_golden_helpers_run_only_where_there_is_no_test_module() -> None:
    assert golden(edit("tests/models.py")).files == ("tests/models.py",)
    assert golden(edit("tests/models.py") + TESTS).files == ("tests/test_new.py",)
    assert golden(new("tests/data.json", "{}")).files == ()


def test_a_deleted_test_file_does_not_run() -> None:
    gone = "--- a/tests/test_old.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def test_a():\n-    pass\n"
    assert rule(gone).submission.reason == "no-test-file"
    suite = rule(gone + TESTS).suite
    assert suite is not None
    assert suite.files == ("tests/test_new.py",)


def test_the_normal_form_is_what_the_suite_is_named_by() -> None:
    suite = rule(TESTS).suite
    assert suite is not None
    assert suite.suite_id == Suite.id_of("k", suite.patch)
    assert rule(suite.patch).suite == replace(suite)
