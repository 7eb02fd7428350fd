"""What sub-agents saw is kept, and the audit knows what they were given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.adapters.llm.base import Message, ModelQuestion, Role, user
from tasks.adapters.llm.gateway.recorder import steps_in
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import MethodName, ModelName, SnapshotName
from tasks.domain.repair import SubAgent
from tasks.methods.notes import Notes
from tasks.repair.transcripts import AttemptTranscript
from tasks.scrape.dataset_rows import import_instances
from tests.fakes.scripted_model import Scripted, calling

DEMO = Path(__file__).parents[2] / "data" / "demo"
ROWS = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances
(LARDER,) = (row for row in ROWS if row.instance_id.endswith("-14"))
Look = Callable[[SubAgent, str], AttemptTranscript]


def added(patch: str) -> str:
    return "\n".join(line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Notes of a sub-agent that called a tool and was shown a text."""

    def looked(agent: SubAgent, shown: str) -> AttemptTranscript:
        notes = AttemptTranscript(
            store=Store(str(tmp_path / "store")),
            instance=LARDER,
            packages=frozenset({"larder"}),
            writing=Notes(tmp_path / "tests"),
            working=Notes(tmp_path / "repair"),
        )
        model = notes.noted(agent, Scripted([calling("view_file", call_id="c", path="x.py"), "I see."]))
        opening = (user("Resolve the issue."),)
        first = model.complete(question(opening))
        model.complete(question((*opening, first.message, Message(role=Role.TOOL, text=shown, tool_call_id="c"))))
        return notes

    return looked


def question(messages: tuple[Message, ...]) -> ModelQuestion:
    return ModelQuestion(messages=messages)


def handed_in(instance: TaskInstance) -> Candidate:
    return Candidate(
        candidate_id=Candidate.id_of(instance.instance_key, "tdflow", "gpt", 0, "p"),
        snapshot=SnapshotName("demo"),
        instance_id=instance.instance_id,
        instance_key=instance.instance_key,
        method=MethodName("tdflow"),
        model=ModelName("gpt"),
        sample=0,
        patch="p",
        provenance="verified",
        source="a",
        problem="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("shown", "rules"),
    [(added(LARDER.patch), ["fixed-content"]), (added(LARDER.test_patch), ["fixed-content"]), ("x = 1\ny = 2", [])],
)
def test_tests_that_were_written_after_a_look_at_the_answer_are_suspected(
    look: Look, shown: str, rules: list[str]
) -> None:
    notes = look(SubAgent.GENERATE_TESTS, shown)
    trajectory, found = notes.keep_tests(handed_in(LARDER))
    assert trajectory
    with notes.store.open_file(trajectory) as file:
        steps = steps_in(file.read())
    assert [(step.role, step.tool) for step in steps] == [
        ("user", ""), ("assistant", "view_file"), ("tool", "view_file"), ("assistant", "")
    ]  # fmt: skip
    assert [(row.rule, row.step) for row in found] == [(rule, 2) for rule in rules]
    assert notes.keep_repair("").trajectory is None, "nobody else was asked"


def test_a_repair_may_read_the_tests_that_it_was_given_and_not_the_fix(look: Look) -> None:
    tests, fix = added(LARDER.test_patch), added(LARDER.patch)
    given = LARDER.test_patch
    assert look(SubAgent.EXPLORE_FILES, tests).keep_repair(given).found == ()
    assert [one.rule for one in look(SubAgent.DEBUG_ONE, tests).keep_repair("").found] == ["fixed-content"]
    assert [one.rule for one in look(SubAgent.REVISE_PATCH, fix).keep_repair(given).found] == ["fixed-content"]
