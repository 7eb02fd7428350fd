"""Every branch of every method of ours, on a toy."""

from __future__ import annotations

from pathlib import Path

import pytest
from branches import BRANCHES, Branch, follows

from tasks.generate.methods.libro import Sample, choose, read_verdict
from tasks.generate.registry import OURS, method_named
from tasks.methods.conversation import Unusable
from tests.fakes.contract import BUDGET
from tests.fakes.scripted_model import Scripted
from tests.fakes.toy_tasks import TOY_TASKS

EVERY = [(name, branch) for name, make in BRANCHES.items() for branch in make(TOY_TASKS[0].assignment)]


def test_every_method_of_ours_has_branches() -> None:
    assert set(BRANCHES) == {method.name for method in OURS}


@pytest.mark.parametrize(("name", "branch"), EVERY, ids=[f"{name}-{branch.name}" for name, branch in EVERY])
def test_branches(name: str, branch: Branch, tmp_path: Path) -> None:
    model = Scripted(branch.script)
    with TOY_TASKS[0].bench(tmp_path) as bench:
        made = list(method_named(name).run(TOY_TASKS[0].assignment, bench, model, BUDGET))
    path = tuple(step for proposal in made for step in proposal.path)
    assert follows(path, branch.path), path
    assert any(proposal.patch for proposal in made) == branch.patch
    assert model.finished()


def test_libro_prefers_the_group_then_the_shortest_then_the_first() -> None:
    def sample(number: int, group: str, added: int) -> Sample:
        return Sample(sample=number, patch=str(number), rung="exact", group=group, added=added)

    drawn = [sample(0, "passes", 1), sample(1, "fails", 2), sample(2, "same-problem", 9), sample(3, "same-problem", 9)]
    assert choose(drawn).sample == 2
    assert choose(drawn[:2]).sample == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"same_problem": true}', True),
        ('Sure: {} {"same_problem": "yes"} {"reason": "{", "same_problem": false} ', False),
    ],
)
def test_verdicts(text: str, verdict: bool) -> None:
    assert read_verdict(text) is verdict


@pytest.mark.parametrize("text", ["yes", "{{{{", '{"same_problem": "yes"}'])
def test_what_is_no_verdict(text: str) -> None:
    with pytest.raises(Unusable):
        read_verdict(text)
