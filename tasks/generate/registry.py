"""The methods that write tests: ours, one line each, and other people's."""

from __future__ import annotations

from functools import partial

from tasks.adapters.agents.catalogue import AGENTS
from tasks.domain.variant import Variant
from tasks.generate.methods.agent import CALLS, agent
from tasks.generate.methods.auto_code_rover import ATTEMPTS, ROUNDS, auto_code_rover
from tasks.generate.methods.external import External, anyway, parameters_of
from tasks.generate.methods.libro import SAMPLES as LIBRO_SAMPLES
from tasks.generate.methods.libro import TEMPERATURE as LIBRO_TEMPERATURE
from tasks.generate.methods.libro import libro, most_replies
from tasks.generate.methods.pass_at_5 import SAMPLES, TEMPERATURE, pass_at_5
from tasks.generate.methods.zero_shot import zero_shot
from tasks.generate.methods.zero_shot_plus import zero_shot_plus
from tasks.methods.method import Method, MethodBudget, replies
from tasks.methods.registry import Registry

GREEDY = frozenset({"temperature=0"})
"""What a method has by itself that asks for the likeliest reply: each of its calls says so, before the model's card
is asked."""


def _one(_: MethodBudget, __: Variant) -> int:
    return 1


def _five(_: MethodBudget, __: Variant) -> int:
    return SAMPLES


OURS = (
    Method(name="zero_shot", run=zero_shot, summary="one unified diff", calls=_one, anyway=GREEDY),
    Method(
        name="zero_shot_plus",
        run=zero_shot_plus,
        summary="one answer in the edit format",
        calls=_one,
        parameters=frozenset({"format"}),
        anyway=GREEDY,
    ),
    Method(
        name="pass_at_5",
        run=pass_at_5,
        summary="five samples",
        samples=SAMPLES,
        calls=_five,
        parameters=frozenset({"format"}),
        anyway=frozenset({f"temperature={TEMPERATURE}"}),
    ),
    Method(
        name="libro",
        run=libro,
        summary="five samples, judged by their errors",
        calls=lambda budget, variant: min(most_replies(variant), budget.calls),
        grows=False,
        parameters=frozenset({"filter", "format", "samples", "temperature"}),
        anyway=frozenset({f"samples={LIBRO_SAMPLES}", f"temperature={LIBRO_TEMPERATURE}"}),
        steps=("judge",),
    ),
    Method(
        name="auto_code_rover",
        run=auto_code_rover,
        summary="search, then write",
        calls=partial(replies, ROUNDS + ATTEMPTS),
        parameters=frozenset({"tools"}),
        anyway=GREEDY,
        retrieval=False,
        steps=("search", "write"),
    ),
    Method(
        name="agent",
        run=agent,
        summary="a shell loop",
        calls=partial(replies, CALLS),
        anyway=GREEDY,
        retrieval=False,
    ),
)

EXTERNAL = tuple(
    Method(
        name=agent.name,
        run=External(agent=agent),
        summary=agent.summary,
        calls=partial(replies, agent.calls),
        parameters=parameters_of(agent),
        anyway=anyway(agent),
        version=agent.key,
        external=True,
        retrieval=False,
    )
    for agent in AGENTS
)


METHODS = Registry(ours=(*OURS, *EXTERNAL), group="rolling_swt_bench.methods")
methods, method_named = METHODS.methods, METHODS.named
