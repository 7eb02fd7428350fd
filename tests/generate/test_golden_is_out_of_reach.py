"""No method can reach anything golden: not by the objects that it is handed, and not by what it sends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import NoHistory

from tasks.adapters.llm.base import ModelQuestion
from tasks.adapters.uv.host_environment import host_environment
from tasks.domain.generation import Mode
from tasks.domain.instance import TaskInstance
from tasks.domain.method_task import MethodTask
from tasks.domain.names import InstanceId, InstanceKey, RepoName, Sha
from tasks.generate.registry import methods
from tasks.methods.briefing import brief
from tasks.methods.method import Assignment
from tasks.rehearsal.contract import BUDGET, PERSONAS
from tasks.rehearsal.scripted_model import Scripted
from tasks.rehearsal.toys import TOYS

MARKER = "GoldenMarker7c1f"
GOLDEN = ("patch", "test_patch", "hints_text", "FAIL_TO_PASS", "PASS_TO_PASS", "environment_setup_commit")
NAMING = ("instance_id", "snapshot", "source")


class Trap(Exception):
    """Something golden was touched."""


class TrappedTask(MethodTask):
    """A task on which every attribute of an instance that is golden, or leads there, springs a trap."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name in (*GOLDEN, *NAMING):
            raise Trap(name)
        raise AttributeError(name)


def instance() -> TaskInstance:
    """A toy as an instance whose golden columns all bear the marker."""
    golden = f"--- a/counting.py\n+++ b/counting.py\n@@ -1 +1 @@\n-def words(text):\n+def {MARKER}(text):\n"
    return TaskInstance(
        repo=RepoName("toys/counting"),
        instance_id=InstanceId("toys__counting-424242"),
        base_commit=Sha("1" * 40),
        patch=golden,
        test_patch=golden,
        problem_statement=TOYS[0].issue,
        hints_text=MARKER,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        version="1.0",
        FAIL_TO_PASS=(MARKER,),
        PASS_TO_PASS=(MARKER,),
        environment_setup_commit=Sha("2" * 40),
        snapshot=f"snapshot-{MARKER}",
        instance_key=InstanceKey("k" * 32),
        source=MARKER,
    )


def trapped() -> Assignment:
    toy = TOYS[0]
    files = {path: text.encode() for path, text in toy.files.items()}
    row = host_environment(RepoName("toys/counting")).environment
    task = brief(instance(), row, sorted(files), files.get, NoHistory())
    values = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
    return dataclasses.replace(toy.assignment, task=TrappedTask(**values))


def sent(asked: list[ModelQuestion]) -> Iterator[str]:
    """Everything that went to the model."""
    for call in asked:
        for message in call.messages:
            yield message.text
            yield from (one.arguments for one in message.tool_calls)
        yield from (f"{tool.name} {tool.description} {tool.parameters}" for tool in call.tools)


def test_the_trap_works() -> None:
    task = trapped().task
    assert task.problem_statement == TOYS[0].issue
    for name in GOLDEN:
        with pytest.raises(Trap):
            getattr(task, name)


@pytest.mark.parametrize("persona", ["helpful", "tools", "refuses"])
@pytest.mark.parametrize("name", sorted(name for name, method in methods().items() if not method.external))
def test_no_method_touches_or_sends_it(name: str, persona: str, tmp_path: Path) -> None:
    model = Scripted(PERSONAS[persona])
    with TOYS[0].bench(tmp_path) as bench:
        list(methods()[name].run(trapped(), bench, model, BUDGET))
    everything = "\n".join(sent(model.asked))
    assert TOYS[0].issue.splitlines()[0] in everything
    for secret in (MARKER, "424242", "2" * 40):
        assert secret not in everything


@pytest.mark.parametrize("name", sorted(name for name, method in methods().items() if not method.external))
def test_whether_a_given_patch_is_the_golden_one_is_not_told(name: str, tmp_path: Path) -> None:
    """The paper's Table 5 hands out patches: the prompts for a right one and a wrong one are the same."""
    from tasks.methods.method import CodePatch

    prompts = []
    for correct in (True, False):
        model = Scripted(PERSONAS["refuses"])
        assignment = dataclasses.replace(
            trapped(), code_patch=CodePatch(text="+fix", correct=correct), mode=Mode.UNIT_TEST
        )
        assert assignment.oracle
        with TOYS[0].bench(tmp_path) as bench:
            list(methods()[name].run(assignment, bench, model, BUDGET))
        prompts.append(list(sent(model.asked)))
    assert prompts[0] == prompts[1]
    assert any("+fix" in text for text in prompts[0])
