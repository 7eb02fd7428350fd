"""A small agent that is a real program repairs a toy: what it is told, what of its work counts, what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from agent_bench import WALKER, Office, office, put, toy_bench

from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.domain.errors import NotFound
from tasks.domain.repair import RepairEnd
from tasks.methods.replay_log import ReplayLog
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import text_step
from tasks.rehearsal.toys import TOYS
from tasks.repair.agents import CALLS, AgentStep, Outing, repairing
from tasks.repair.settings import RepairSettings, TdflowLimits
from tasks.repair.suite import TargetTests, TestGoal
from tasks.repair.tdflow import PatchTried, Worked

PATH = "tests/test_counting.py"
TESTS = (
    f"--- a/{PATH}\n+++ b/{PATH}\n@@ -4,3 +4,7 @@\n # the plain case\n def test_two():\n     assert words('a b') == 2\n"
    "+\n+\n+def test_none():\n+    assert words('') == 0\n"
)
EDIT = "import pathlib; path = pathlib.Path({!r}); path.write_text(path.read_text().replace({!r}, {!r}))"
FIX = EDIT.format("counting.py", 'text.split(" ")', "text.split()")
WRONG = EDIT.format("counting.py", 'len(text.split(" "))', "0")
EASIER = EDIT.format(PATH, "== 0", "== 1")


class Told:
    """One outing and what it told."""

    def __init__(self) -> None:
        self.steps: list[AgentStep] = []
        self.patches: list[tuple[PatchTried, TestGoal]] = []
        self.asked: list[ClientRequest] = []
        self.worked: Worked | None = None
        self.trajectory = ""


@pytest.fixture
def sent_out(tmp_path: Path) -> Callable[..., Told]:
    def outing(*said: str) -> Told:
        put(tmp_path / "agents")
        told = Told()

        def script(call: ClientRequest) -> Step:
            told.asked.append(call)
            return text_step(said[len(told.asked) - 1])

        with (
            office(tmp_path, script) as made,
            toy_bench(tmp_path) as bench,
            ReplayLog(tmp_path / "journal") as journal,
        ):
            told.worked, told.trajectory = Outing(
                agent=replace(WALKER, calls=CALLS),
                task=TOYS[0].assignment.task,
                tests=TargetTests.of_patch("golden", TESTS, bench.base, None),
                bench=bench,
                model=made.model(),
                limits=replace(TdflowLimits(), seconds=60.0),
                journal=journal,
                step=told.steps.append,
                patch=lambda tried, goal: told.patches.append((tried, goal)),
            ).work()
            assert_kept(made, told)
        return told

    return outing


def assert_kept(made: Office, told: Told) -> None:
    with made.store.open_file(told.trajectory) as file:
        assert file.read()


def test_it_has_the_tests_and_hands_in_the_fix_without_them(sent_out: Callable[..., Told]) -> None:
    see = f"print(open({PATH!r}).read())"
    told = sent_out(see, FIX, "stop")
    errand, shown = told.asked[0].messages[0].text, told.asked[1].messages[-1].text
    assert f"{PATH}::test_none" in errand
    assert f"{PATH}::test_two" not in errand, "it passes already"
    assert f"{CALLS} replies" in errand
    assert "def test_none()" in shown
    assert told.worked
    (tried,) = told.worked.tried
    assert (told.worked.end, told.worked.chosen) == (RepairEnd.PASSED, tried)
    assert [change.path for change in tried.changes] == ["counting.py"]
    ((_, goal),) = told.patches
    assert (len(goal.targets), len(goal.guarded), tried.failing, tried.broken) == (1, 1, (), ())
    (step,) = told.steps
    assert (step.patch, step.touched, step.back.account.calls) == (tried.patch, (), 3)


def test_what_it_does_to_the_tests_is_undone_and_seen(sent_out: Callable[..., Told]) -> None:
    told = sent_out(EASIER, "stop")
    assert told.worked
    (tried,) = told.worked.tried
    assert told.worked.end is RepairEnd.ITERATIONS
    assert [case.qualname for case in tried.failing] == ["test_none"]
    assert told.steps[0].touched == (PATH,)
    assert PATH in tried.patch, "whoever judges it sees it too"


def test_one_that_breaks_others_or_does_nothing_has_not_passed(sent_out: Callable[..., Told]) -> None:
    broke = sent_out(WRONG, "stop")
    assert broke.worked
    assert (broke.worked.end, [case.qualname for case in broke.worked.tried[0].broken]) == ("iterations", ["test_two"])


def test_one_that_does_nothing_hands_in_nothing(sent_out: Callable[..., Told]) -> None:
    idle = sent_out("stop")
    assert idle.worked
    assert (idle.worked.end, idle.worked.chosen, idle.patches) == (RepairEnd.ITERATIONS, None, [])


def test_it_has_a_name_of_its_own_and_is_one_of_those_that_there_are() -> None:
    settings = RepairSettings()
    assert settings.method("golden", (), "mini_swe_agent") == "mini_swe_agent"
    assert settings.method("libro@gpt", (), "mini_swe_agent") == "mini_swe_agent[tests=libro@gpt]"
    assert repairing("mini_swe_agent").calls == CALLS
    with pytest.raises(NotFound):
        repairing("no_such_agent")
