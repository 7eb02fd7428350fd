"""A bench shows the base commit, keeps what is done on it to itself, and lets nothing out of its folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.adapters.debugger.session import DebugState
from tasks.adapters.text import without_middle
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.errors import BadInput
from tasks.domain.outcome import Outcome, RunStatus
from tests.fakes.toy_tasks import TOY_TASKS

NEW = "from counting import words\n\n\ndef test_none():\n    assert words('') == 0\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[LocalWorkbench]:
    with TOY_TASKS[0].bench(tmp_path) as made:
        yield made


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


def test_reading_and_writing_need_no_checkout(bench: LocalWorkbench, tmp_path: Path) -> None:
    bench.write("tests/test_new.py", NEW)
    assert bench.read("tests/test_new.py") == NEW
    assert bench.base("tests/test_new.py") is None
    assert bench.read("no/such.py") is None
    assert "+++ b/tests/test_new.py" in bench.diff()
    assert left(tmp_path) == []


def test_search(bench: LocalWorkbench) -> None:
    assert [(hit.path, hit.line) for hit in bench.search("words", under="tests")] == [
        ("tests/test_counting.py", 1),
        ("tests/test_counting.py", 6),
    ]
    assert len(bench.search("words", limit=1)) == 1


def test_tests_run_on_what_was_written_and_leave_nothing(bench: LocalWorkbench, tmp_path: Path) -> None:
    bench.write("tests/test_new.py", NEW)
    tested = bench.run_tests(["tests/test_new.py", "tests/test_counting.py"])
    assert {case.qualname: case.outcome for case in tested.cases} == {
        "test_none": Outcome.FAILED,
        "test_two": Outcome.PASSED,
    }
    assert left(tmp_path) == []


def test_a_case_is_debugged_on_what_was_written_and_leaves_nothing(bench: LocalWorkbench, tmp_path: Path) -> None:
    bench.write("tests/test_new.py", NEW)
    with bench.debug("tests/test_new.py", "tests/test_new.py::test_none") as session:
        assert session.start().text.startswith("The test begins here.\n> tests/test_new.py(5)test_none()")
        session.command("b words")
        assert session.command("c").path == "counting.py"
        assert session.command("c").state is DebugState.POST_MORTEM
    assert left(tmp_path) == []


def test_commands_change_files_and_the_diff_shows_it(bench: LocalWorkbench) -> None:
    bench.write("kept.py", "x = 1\n")
    script = (
        "mkdir -p .git __pycache__; echo a > .git/config; echo b > __pycache__/x.pyc; echo 'y = 2' >> counting.py; ls"
    )
    ran = bench.run(["/bin/sh", "-c", f"{script}; rm tests/test_counting.py; exit 3"])
    assert (ran.exit_code, "kept.py" in ran.output) == (3, True)
    patch = bench.diff()
    assert "+y = 2" in patch
    assert "deleted file mode" in patch
    assert "pycache" not in patch
    assert ".git/config" not in patch
    assert bench.read("counting.py") != bench.supplies.read_base("counting.py")


def test_a_fork_starts_where_the_bench_is_and_keeps_its_own(bench: LocalWorkbench) -> None:
    bench.run(["/bin/sh", "-c", "echo 'z = 3' > made.py"])
    with bench.fork() as fork:
        assert fork.read("made.py") == "z = 3\n"
        fork.write("made.py", None)
        assert fork.diff() == ""
    assert bench.read("made.py") == "z = 3\n"


def test_links_lead_nowhere(bench: LocalWorkbench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    bench.run(["/bin/sh", "-c", f"ln -s {tmp_path / 'secret'} link; ln -s {tmp_path} folder"])
    assert bench.read("link") is None
    assert bench.read("folder/secret") is None
    assert bench.diff() == ""
    for path in ("folder/new.py", "link", "../out.py", "/abs.py"):
        with pytest.raises(BadInput):
            bench.write(path, "x")


def test_a_hanging_command_is_ended(bench: LocalWorkbench) -> None:
    ran = bench.run(["/bin/sh", "-c", "echo before; sleep 60"], timeout_s=1.0)
    assert ran.timed_out
    assert "before" in ran.output


def test_long_output_loses_its_middle() -> None:
    text = without_middle("a" * 50 + "b" * 50, 20)
    assert text.startswith("a" * 10 + "\n")
    assert text.endswith("b" * 10)
    assert "80 characters left out" in text


def test_some_cases_run_without_the_others(bench: LocalWorkbench) -> None:
    bench.write("tests/test_new.py", NEW)
    files = ["tests/test_new.py", "tests/test_counting.py"]
    tested = bench.run_tests(files, ["tests/test_counting.py::test_two"])
    assert [(case.qualname, case.outcome) for case in tested.cases] == [("test_two", Outcome.PASSED)]
    assert bench.run_tests(files, ["tests/test_counting.py::test_nine"]).cases == ()


DEEP = """
import os
os.mkdir("locked", 0o700); open("locked/file.py", "w").write("x = 1\\n"); os.chmod("locked", 0)
os.symlink("loop", "loop")
open("tests/test_new.py", "w").write("def test_new():\\n    pass\\n")
os.mkdir("long"); os.chdir("long")
for _ in range(20):
    os.mkdir("n" * 250); os.chdir("n" * 250)
open("test_far.py", "w").close()
os.chdir("/".join([".."] * 21)); os.mkdir("deep"); os.chdir("deep")
for _ in range(2500):
    os.mkdir("d"); os.chdir("d")
open("test_deep.py", "w").close()
"""


def test_a_tree_that_no_path_reaches_is_no_error_and_no_work(bench: LocalWorkbench, tmp_path: Path) -> None:
    assert bench.run([sys.executable, "-c", DEEP]).exit_code == 0
    assert {change.path for change in bench.changes()} == {"tests/test_new.py", "locked/file.py"}
    assert bench.run(["true"]).exit_code == 0
    assert bench.run_tests(["tests/test_new.py"]).status is RunStatus.COMPLETED
    assert bench.search("words", under="tests")
    for path in ("loop/a.py", "counting.py/a.py", "tests"):
        with pytest.raises(BadInput):
            bench.write(path, "")
    bench.__exit__()
    assert left(tmp_path) == []
