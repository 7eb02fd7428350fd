"""What methods would ask for, told without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.adapters.agents.catalogue import AGENTS
from tasks.adapters.llm.base import Message, ModelQuestion, Reply
from tasks.adapters.retrieval.budget import token_count
from tasks.domain.variant import PLAIN
from tasks.generate.estimate import PaperBench, estimate
from tasks.generate.registry import OURS, method_named
from tasks.methods.method import CodePatch, Method, MethodBudget
from tests.fakes.scripted_model import Scripted
from tests.fakes.toy_tasks import TOY_TASKS

TOY = TOY_TASKS[0]
BUDGET = MethodBudget(calls=20, reply_tokens=1_000)
BENCH = PaperBench(tuple(TOY.files), lambda path: TOY.files[path].encode() if path in TOY.files else None)


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_every_method_of_ours_can_be_foreseen(method: Method) -> None:
    found = estimate(method, TOY.assignment, BENCH, BUDGET)
    assert found.calls == method.calls(BUDGET, PLAIN)
    assert found.tokens_out == found.calls * 1_000
    assert found.tokens_in is not None
    assert found.tokens_in > 100 * found.calls


def test_the_prompt_of_one_question_is_counted_as_it_is_sent() -> None:
    sent: list[Message] = []

    def silent(asked: ModelQuestion) -> Reply:
        sent.extend(asked.messages)
        return Reply(text="")

    model = Scripted(silent)
    list(method_named("zero_shot").run(TOY.assignment, BENCH, model, BUDGET))
    found = estimate(method_named("zero_shot"), TOY.assignment, BENCH, BUDGET)
    assert (found.calls, found.tokens_in) == (1, sum(token_count(message.text) for message in sent))


def test_libros_prompts_hold_no_earlier_reply_and_an_agents_do() -> None:
    """Its plan once took each of its calls for as long as the model's context: 11.55 dollars for what cost 0.36."""
    found = {name: estimate(method_named(name), TOY.assignment, BENCH, BUDGET) for name in ("libro", "agent")}
    assert {name: one.grows for name, one in found.items()} == {"libro": False, "agent": True}


def test_what_an_agent_is_told_is_the_least_that_it_sends_and_its_replies_have_no_limit_of_ours() -> None:
    plain, told = (
        estimate(method_named("swe_agent_plus"), replace(TOY.assignment, code_patch=patch), BENCH, BUDGET)
        for patch in (None, CodePatch(text="+fix\n" * 100, correct=False))
    )
    assert 100 < plain.tokens_in_least < told.tokens_in_least
    assert (plain.tokens_out, plain.grows) == (None, True)


def test_what_cannot_be_rendered_beforehand_is_unknown() -> None:
    agent = estimate(method_named(AGENTS[0].name), TOY.assignment, BENCH, BUDGET)
    assert (agent.calls, agent.tokens_in) == (min(AGENTS[0].calls, 20), None)

    def eager(assignment, bench, model, budget):  # type: ignore[no-untyped-def]
        bench.run(["ls"])
        yield from ()

    assert estimate(Method(name="eager", run=eager, summary=""), TOY.assignment, BENCH, BUDGET).tokens_in is None
