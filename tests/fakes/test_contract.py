"""Every registered method keeps the contract; what does not keep it is found out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks.adapters.llm.base import Model, ModelQuestion, user
from tasks.adapters.llm.errors import ModelError
from tasks.adapters.workbench.base import Workbench
from tasks.generate.registry import methods
from tasks.methods.method import Assignment, Method, MethodBudget, Proposal
from tests.fakes.contract import check, main
from tests.fakes.toy_tasks import TOY_TASKS


@pytest.mark.parametrize("name", sorted(name for name, method in methods().items() if not method.external))
def test_the_contract_is_kept(name: str) -> None:
    assert check(methods()[name]) == ()


def greedy(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    for _ in range(budget.calls + 1):
        model.complete(ModelQuestion(messages=(user("more"),)))
    yield Proposal(sample=0, patch="")


def boastful(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    model.complete(ModelQuestion(messages=(user("please"),)))
    yield Proposal(sample=1, patch="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", rung="exact")


def stubborn(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    try:
        model.complete(ModelQuestion(messages=(user("please"),)))
    except ModelError:
        yield Proposal(sample=0, patch="")
        return
    raise KeyError("what to do")


@pytest.mark.parametrize(
    ("function", "problems"),
    [
        (greedy, {"asks 21 times"}),
        (boastful, {"yields samples [1]", "is refused: no-such-file"}),
        (stubborn, {"throws KeyError", "turns a failure of the provider into 1 proposals"}),
    ],
)
def test_what_breaks_it_is_said(function: object, problems: set[str]) -> None:
    method = Method(name="bad", run=function, summary="")  # type: ignore[arg-type]
    said = check(method, TOY_TASKS[:1])
    assert all(any(problem in line for line in said) for problem in problems)


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zero_shot"]) == 0
    assert main(["no_such_method"]) == 1
    assert "there is no method 'no_such_method'" in capsys.readouterr().out
