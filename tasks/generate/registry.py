"""The methods that can be asked for by name: ours, one line each, and other people's, by entry point."""

from __future__ import annotations

from functools import partial
from importlib.metadata import EntryPoint, entry_points

from tasks.adapters.agents.base import Agent
from tasks.adapters.agents.catalogue import AGENTS
from tasks.domain.errors import BadInput, NotFound
from tasks.generate.method import Budget, Method
from tasks.generate.methods.agent import CALLS, agent
from tasks.generate.methods.auto_code_rover import ATTEMPTS, ROUNDS, auto_code_rover
from tasks.generate.methods.external import External
from tasks.generate.methods.libro import libro
from tasks.generate.methods.pass_at_5 import SAMPLES, pass_at_5
from tasks.generate.methods.zero_shot import zero_shot
from tasks.generate.methods.zero_shot_plus import zero_shot_plus

GROUP = "rolling_swt_bench.methods"
"""Entry points of this group are methods: the name is the method's, the object is a `Method` or its function."""


def _one(_: Budget) -> int:
    return 1


def _agent_calls(agent: Agent, budget: Budget) -> int:
    return min(agent.calls, budget.calls)


OURS = (
    Method(name="zero_shot", run=zero_shot, summary="one unified diff", calls=_one),
    Method(name="zero_shot_plus", run=zero_shot_plus, summary="one answer in the edit format", calls=_one),
    Method(name="pass_at_5", run=pass_at_5, summary="five samples", samples=SAMPLES, calls=lambda _: SAMPLES),
    Method(name="libro", run=libro, summary="five samples, judged by their errors", calls=lambda b: min(15, b.calls)),
    Method(
        name="auto_code_rover",
        run=auto_code_rover,
        summary="search, then write",
        calls=lambda budget: min(ROUNDS + ATTEMPTS, budget.calls),
        retrieval=False,
    ),
    Method(
        name="agent",
        run=agent,
        summary="a shell loop",
        calls=lambda budget: min(CALLS, budget.calls),
        retrieval=False,
    ),
)

EXTERNAL = tuple(
    Method(
        name=agent.name,
        run=External(agent=agent),
        summary=agent.summary,
        calls=partial(_agent_calls, agent),
        version=agent.key,
        external=True,
        retrieval=False,
    )
    for agent in AGENTS
)


def methods() -> dict[str, Method]:
    """Every method by its name. `BadInput` where a plug-in takes the name of another or is none."""
    found = {method.name: method for method in (*OURS, *EXTERNAL)}
    for point in entry_points(group=GROUP):
        if point.name in found:
            raise BadInput(f"two methods are called {point.name}", hint=f"rename the entry point {point.value}")
        found[point.name] = _loaded(point)
    return found


def method_named(name: str) -> Method:
    """`NotFound` names those that there are."""
    found = methods()
    if name not in found:
        raise NotFound(f"there is no method {name!r}", hint=f"there are {', '.join(sorted(found))}")
    return found[name]


def _loaded(point: EntryPoint) -> Method:
    """The method of an entry point, under the entry point's name."""
    try:
        target = point.load()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"method {point.name}: {point.value} cannot be imported: {error}", hint="repair it") from error
    if isinstance(target, Method) and target.name == point.name:
        return target
    if callable(target) and not isinstance(target, Method):
        summary = (target.__doc__ or "").strip().partition("\n")[0]
        return Method(name=point.name, run=target, summary=summary)
    raise BadInput(
        f"method {point.name}: {point.value} is no method", hint="name a function or a Method; docs/writing-a-method.md"
    )
