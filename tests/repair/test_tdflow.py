"""TDFlow on a toy: real runs of the tests, a real debugger, a scripted model that knows the fix on its second try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.llm.base import Model, ModelQuestion, Reply
from tasks.adapters.llm.errors import ProviderFailed
from tasks.domain.errors import SwtError
from tasks.domain.repair import RepairEnd, SubAgent
from tasks.methods.replay_log import ReplayLog
from tasks.rehearsal.scripted_model import Scripted, calling
from tasks.rehearsal.toys import TOYS
from tasks.repair.isolated_case import IsolatedResult
from tasks.repair.settings import TdflowLimits
from tasks.repair.sub_agents import StepTaken, SubAgents
from tasks.repair.suite import CaseSeen, TargetTests, TestGoal
from tasks.repair.tdflow import PatchTried, Tdflow, Worked

TOY = TOYS[0]
TESTS = """--- a/tests/test_counting.py
+++ b/tests/test_counting.py
@@ -4,3 +4,7 @@
 # the plain case
 def test_two():
     assert words('a b') == 2
+
+
+def test_none():
+    assert words('') == 0
"""
PATCH = """--- a/counting.py
+++ b/counting.py
@@ -1,3 +1,3 @@
 def words(text):
     {context}
-    return len(text.split(" "))
+    return {value}
"""
RIGHT_CONTEXT = '"""How many words there are."""'
WRONG, RIGHT = "len(text)", "len(text.split())"
TOUCHING = PATCH.replace("counting.py", "tests/test_counting.py")


def patch(value: str, context: str = RIGHT_CONTEXT) -> str:
    return PATCH.format(value=value, context=context)


def knows_it_later(asked: ModelQuestion) -> Reply:
    """A patch that touches tests, then one that is malformed and wrong; the right one once there is a report."""
    said = [message.text for message in asked.messages]
    opening, turn = said[0], sum(bool(message.tool_calls) for message in asked.messages)
    if asked.step == SubAgent.REVISE_PATCH:
        tries = (patch(RIGHT), patch(WRONG))
        return calling("submit_patch", call_id=f"c{turn}", patch=tries[turn])
    if asked.step == SubAgent.DEBUG_ONE:
        commands = ("b counting.words", "c", "p text")
        if turn < len(commands):
            return calling("debugger", call_id=f"c{turn}", command=commands[turn])
        return calling("submit_report", call_id=f"c{turn}", report=f"words() is given {said[-1]}")
    if "<report>" in opening:
        return calling("submit_patch", patch=patch(RIGHT))
    tries = (TOUCHING.format(value="2", context="x"), patch(WRONG, context='"""How many?"""'))
    look = (calling("view_file", call_id="v", path="counting.py"),)
    return (*look, *(calling("submit_patch", call_id=f"c{turn}", patch=text) for text in tries))[turn]


class Tale:
    """One attempt after the other on the toy, with what they told."""

    def __init__(self, folder: Path, script: Callable[[ModelQuestion], Reply | str | Exception]) -> None:
        self.folder = folder
        self.model = Scripted(script)
        self.steps: list[StepTaken] = []
        self.patches: list[PatchTried] = []
        self.lone: list[tuple[int, str, str]] = []
        self.limits = TdflowLimits()
        self.tests = TESTS

    def work(self) -> Worked:
        with TOY.bench(self.folder / "scratch") as bench, ReplayLog(self.folder / "journal") as journal:
            tests = TargetTests.of_patch("golden", self.tests, bench.base, None)
            return Tdflow(
                task=TOY.assignment.task,
                tests=tests,
                bench=bench,
                agents=self.agents,
                journal=journal,
                patch=self.keep,
                lone=self.keep_lone,
            ).work()

    @property
    def agents(self) -> SubAgents:
        return SubAgents(models=self.for_step, limits=self.limits, step=self.steps.append)

    def for_step(self, _agent: SubAgent, _step: str) -> Model:
        return self.model

    def keep_lone(self, iteration: int, case: CaseSeen, seen: IsolatedResult) -> None:
        self.lone.append((iteration, case.case_id, seen.reason.value))

    def keep(self, tried: PatchTried, _goal: TestGoal) -> None:
        self.patches.append(tried)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tale, Worked]:
    tale = Tale(tmp_path_factory.mktemp("tdflow"), knows_it_later)
    return tale, tale.work()


def test_the_second_iteration_passes(told: tuple[Tale, Worked]) -> None:
    tale, worked = told
    assert worked.end is RepairEnd.PASSED
    assert worked.chosen is worked.tried[1]
    assert worked.chosen.patch.count(f"+    return {RIGHT}") == 1
    first, second = tale.patches
    assert (first.revised, first.rung, len(first.failing), len(first.broken)) == (True, "exact", 0, 1)
    assert (second.revised, second.rung, second.failing, second.broken) == (False, "exact", (), ())


def test_every_sub_agent_tells_what_it_did(told: tuple[Tale, Worked]) -> None:
    steps = told[0].steps
    agents = [(step.iteration, step.agent.value, step.submission is not None) for step in steps]
    assert agents == [
        (1, "explore-files", True),
        (1, "revise-patch", True),
        (1, "debug-one", True),
        (2, "explore-files", True),
    ]
    assert told[0].lone == [(1, "tests/test_counting.py::test_two", "")]
    explore, revise, debug, _ = steps
    assert [reason.partition(":")[0] for reason in explore.conversation.reasons] == ["touches-tests"]
    assert [reason.partition(":")[0] for reason in revise.conversation.reasons] == ["inserted-lines-changed"]
    assert debug.case_id == "tests/test_counting.py::test_two"
    assert debug.conversation.path.count("debugger") == 3
    assert debug.submission == "words() is given 'a b'\n[stopped at counting.py:3 in words]"


def test_what_was_seen_is_not_seen_again(tmp_path: Path) -> None:
    """Each time the model fails at one question more. What comes out is as if it never had."""
    straight = Tale(tmp_path / "straight", knows_it_later)
    end = straight.work()
    number = len(straight.model.asked)
    answered: dict[tuple[object, ...], Reply] = {}
    paid = 0

    def replayed(asked: ModelQuestion) -> Reply | Exception:
        nonlocal paid
        key = (asked.step, asked.sample, asked.messages)
        if key not in answered:
            paid += 1
            if paid % 2:
                return ProviderFailed("gone", kind="server")
            answered[key] = knows_it_later(asked)
        return answered[key]

    broken = Tale(tmp_path / "broken", replayed)
    for _ in range(number):
        with pytest.raises(ProviderFailed):
            broken.work()
    again = broken.work()
    assert len(answered) == number
    assert (again.end, again.chosen and again.chosen.patch) == (end.end, end.chosen and end.chosen.patch)
    assert [one.agent for one in broken.steps[-4:]] == [one.agent for one in straight.steps]


def test_a_model_that_hands_in_nothing_uses_up_the_iterations(tmp_path: Path) -> None:
    tale = Tale(tmp_path, lambda _: "I have no idea.")
    tale.limits = replace(TdflowLimits(), iterations=2, explore_turns=3)
    worked = tale.work()
    assert (worked.end, worked.chosen) == (RepairEnd.ITERATIONS, None)
    assert [step.conversation.path[-1] for step in tale.steps] == ["out-of-budget"] * 2


@pytest.mark.parametrize(
    ("rest", "end"),
    [
        ("class TestedThings:\n+    pass\n", RepairEnd.PASSED),
        ("import pytest\n+pytest.skip('not here', allow_module_level=True)\n", RepairEnd.ITERATIONS),
    ],
)
def test_a_file_that_can_be_imported_at_last_has_no_tests_to_pass(rest: str, end: RepairEnd, tmp_path: Path) -> None:
    """Models of the tests (django-14672): before the fix they cannot be imported, and nobody tests anything in them."""
    head = "--- /dev/null\n+++ b/tests/test_things.py\n@@ -0,0 +1,4 @@\n"
    head += "+from counting import words\n+assert words('') == 0\n+"
    tale = Tale(tmp_path, lambda _: calling("submit_patch", patch=patch(RIGHT)))
    tale.tests, tale.limits = TESTS + head + rest, replace(TdflowLimits(), iterations=1)
    worked = tale.work()
    assert worked.end is end


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("words('') == 0", "words('') == 1", "no test of golden fails"),
        ("assert words('') == 0", "import os; os._exit(3)", "did not run to their end"),
    ],
)
def test_tests_that_are_no_goal(tmp_path: Path, old: str, new: str, problem: str) -> None:
    tale = Tale(tmp_path, lambda _: ProviderFailed("nobody is asked", kind="server"))
    with TOY.bench(tmp_path / "scratch") as bench:
        tests = TargetTests.of_patch("golden", TESTS.replace(old, new), bench.base, None)
        journal = ReplayLog(tmp_path / "journal")
        flow = Tdflow(
            task=TOY.assignment.task, tests=tests, bench=bench, agents=tale.agents, journal=journal,
            patch=tale.keep, lone=tale.keep_lone,
        )  # fmt: skip
        with pytest.raises(SwtError, match=problem):
            flow.work()
    assert not tale.model.asked
