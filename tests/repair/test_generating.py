"""Generate Tests on a toy: what it may hand in, and what it is told otherwise. Real runs of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.methods.conversation import Unusable
from tasks.methods.replay_log import ReplayLog
from tasks.rehearsal.scripted_model import Scripted, calling
from tasks.rehearsal.toys import TOYS
from tasks.repair.generating import ReproductionWriter
from tasks.repair.settings import TdflowLimits
from tasks.repair.sub_agents import StepTaken, SubAgents

TOY = TOYS[0]
PATH = "tests/test_counting.py"
HEAD = (
    f"--- a/{PATH}\n+++ b/{PATH}\n@@ -4,3 +4,7 @@\n # the plain case\n def test_two():\n     assert words('a b') == 2\n"
)
TESTS = f"{HEAD}+\n+\n+def test_none():\n+    assert words('') == 0\n"
PASSING = TESTS.replace("== 0", "== 1")
CODE = "--- a/counting.py\n+++ b/counting.py\n@@ -1,1 +1,2 @@\n def words(text):\n+    # tests know better\n"
DIES = TESTS.replace("assert words('') == 0", "import os; os._exit(3)")
NEW = f"{PATH}:9 test_none"


@pytest.fixture
def writer(tmp_path: Path):  # type: ignore[no-untyped-def]
    with TOY.bench(tmp_path / "scratch") as bench, ReplayLog(tmp_path / "journal") as journal:
        yield ReproductionWriter(name="mine@scripted", task=TOY.assignment.task, bench=bench, journal=journal)


def test_what_was_run_and_fails_is_taken(writer: ReproductionWriter) -> None:
    said = writer.evaluate_tests(TESTS, "test_none\ntest_ten")
    assert f"{PATH}::test_none: fails" in said
    assert "test_two" not in said
    assert said.endswith("Not among the tests that ran: test_ten.")
    writer.submit(TESTS, NEW)
    assert writer.tests is not None
    assert (writer.tests.fail_to_pass, writer.tests.files) == (
        frozenset({f"{PATH}::test_none", f"{PATH}::test_none[#0]"}),
        (PATH,),
    )


@pytest.mark.parametrize(
    ("ran", "patch", "names", "reason"),
    [
        ("", TESTS, NEW, "not-evaluated"),
        (PASSING, TESTS, NEW, "not-evaluated"),
        (PASSING, PASSING, NEW, "nothing-fails"),
        (DIES, DIES, NEW, "run-incomplete"),
        (TESTS, TESTS, "", "no-place"),
        (TESTS, TESTS, "test_none", "no-place"),
        (TESTS, TESTS, f"{NEW}\n{NEW}", "no-place"),
        (TESTS, TESTS, f"{PATH}:6 test_none", "no-such-test"),
        ("", CODE, "counting.py:1 words", "touches-code"),
        ("", "no diff", NEW, "cannot-be-placed"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_its_reason(
    writer: ReproductionWriter, ran: str, patch: str, names: str, reason: str
) -> None:
    if ran:
        writer.evaluate_tests(ran)
    with pytest.raises(Unusable) as refused:
        writer.submit(patch, names)
    assert refused.value.reason == reason
    assert writer.tests is None


def test_it_has_two_hundred_turns_and_hands_in_nothing_after_them(writer: ReproductionWriter) -> None:
    model, steps = Scripted(lambda _: calling("show_folder", call_id="c")), list[StepTaken]()
    agents = SubAgents(models=lambda _agent, _step: model, limits=TdflowLimits(), step=steps.append)
    assert writer.work(agents) == ""
    assert (len(model.asked), writer.tests) == (200, None)
    (step,) = steps
    assert (step.iteration, step.agent.value, step.submission) == (0, "generate-tests", None)
    assert {tool.name for tool in model.asked[0].tools} == {
        "evaluate_tests", "view_file", "find_keyword", "show_folder", "submit_tests",
    }  # fmt: skip
