"""What a method is handed: nothing golden, whatever it tries."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatch

import pytest
from domain_rows import NoHistory, environment_row

from tasks.adapters.patch.split import is_test_path
from tasks.domain.instance import TaskInstance
from tasks.domain.method_task import MethodTask
from tasks.domain.names import InstanceId, InstanceKey, RepoName, Sha
from tasks.domain.outcome import RunnerKind
from tasks.methods.briefing import TEST_GLOBS, brief, pick_example

GOLDEN_FIELDS = frozenset(
    {
        *("patch", "test_patch", "hints_text", "created_at", "FAIL_TO_PASS", "PASS_TO_PASS"),
        *("environment_setup_commit", "source"),
    }
)
FILES = {
    "pkg/a.py": b"x = 1\n",
    "tests/test_a.py": b"def test_a():\n    assert True\n",
    "tests/test_long.py": b"def test_b():\n    pass\n" * 1000,
    "tests/test_data.py": b"ROWS = []\n",
}
NUMBER = "48213"


class Trapped(TaskInstance):
    """An instance whose golden columns explode."""

    def __getattribute__(self, name: str) -> object:
        if name in GOLDEN_FIELDS:
            raise AssertionError(f"somebody looked at {name}")
        return super().__getattribute__(name)


def trapped() -> TaskInstance:
    return Trapped(
        repo=RepoName("owner/name"),
        instance_id=InstanceId(f"owner__name-{NUMBER}"),
        base_commit=Sha("a" * 40),
        patch="the golden patch",
        test_patch="the golden tests",
        problem_statement=f"It breaks. I have a fix ready in #{NUMBER}.",
        hints_text="the hints",
        created_at=datetime(2026, 5, 4, tzinfo=UTC),
        version="1.2",
        FAIL_TO_PASS=("f2p",),
        PASS_TO_PASS=("p2p",),
        environment_setup_commit=Sha("b" * 40),
        snapshot="s",
        instance_key=InstanceKey("c" * 32),
        source=f"pull {NUMBER}",
    )


def task_of(runner: RunnerKind = RunnerKind.PYTEST, *args: str) -> MethodTask:
    return brief(trapped(), environment_row(runner=runner, test_args=args), FILES, FILES.get, NoHistory())


def test_briefing_looks_at_nothing_golden_and_hands_out_nothing_golden() -> None:
    text = repr(asdict(task_of()))
    assert not [word for word in ("golden", "hints", "f2p", "p2p", NUMBER, "b" * 40, "2026") if word in text]


def test_every_column_of_an_instance_is_either_golden_or_handed_out() -> None:
    columns = set(TaskInstance.__dataclass_fields__)
    handed_out = columns & set(MethodTask.__dataclass_fields__)
    assert columns - handed_out == GOLDEN_FIELDS | {"snapshot", "instance_id", "problem_statement_mode"}


@pytest.mark.parametrize(
    ("runner", "args", "command", "targets"),
    [
        (RunnerKind.PYTEST, ("-rA",), ("python", "-m", "pytest", "-rA"), "path"),
        (RunnerKind.UNITTEST, (), ("python", "-m", "unittest"), "module"),
        (RunnerKind.DJANGO, ("--parallel", "1"), ("python", "tests/runtests.py", "--parallel", "1"), "module"),
        (RunnerKind.SYMPY, ("-C",), ("python", "bin/test", "-C"), "path"),
    ],
)
def test_the_command_that_runs_tests(
    runner: RunnerKind, args: tuple[str, ...], command: tuple[str, ...], targets: str
) -> None:
    task = task_of(runner, *args)
    assert (task.test_command, task.test_targets) == (command, targets)


def test_the_example_holds_tests_and_is_short_enough_to_show() -> None:
    example = task_of().example
    assert example is not None
    assert example.path == "tests/test_a.py"


def test_a_long_example_is_better_than_none() -> None:
    only_long = {name: data for name, data in FILES.items() if name != "tests/test_a.py"}
    example = pick_example(only_long, only_long.get, seed="s")
    assert example is not None
    assert example.path == "tests/test_long.py"
    assert pick_example(["pkg/a.py"], FILES.get, seed="s") is None


@pytest.mark.parametrize(
    "path", ["tests/a/test_b.py", "pkg/tests/data.json", "pkg/b_test.py", "test/x.py", "testing/x.py", "src/tests.py"]
)
def test_what_the_globs_match_the_policy_keeps(path: str) -> None:
    assert any(fnmatch(path, glob.replace("**/", "*")) for glob in TEST_GLOBS)
    assert is_test_path(path)
