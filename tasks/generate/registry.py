"""The methods that write tests: built-in, third-party agents, and plug-ins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points

from tasks.adapters.agents.catalogue import AGENTS
from tasks.domain.errors import BadInput, NotFound
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The methods of a stage."""

    ours: tuple[Method, ...]
    group: str
    """Entry-point group of plug-ins: the name is the method's name, the object is a `Method` or its function."""

    def methods(self) -> dict[str, Method]:
        """Returns name → method. Raises `BadInput` if a plug-in is no method or has the name of another one."""
        found = {method.name: method for method in self.ours}
        for point in entry_points(group=self.group):
            if point.name in found:
                raise BadInput(f"two methods are called {point.name}", hint=f"rename the entry point {point.value}")
            found[point.name] = _loaded(point)
        return found

    def named(self, name: str) -> Method:
        """Returns the method. Raises `NotFound` with all known names if there is none."""
        found = self.methods()
        if name not in found:
            raise NotFound(f"there is no method {name!r}", hint=f"there are {', '.join(sorted(found))}")
        return found[name]


def _loaded(point: EntryPoint) -> Method:
    """Returns the method of an entry point, under the entry point's name."""
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


GREEDY = frozenset({"temperature=0"})
"""Built-in option of methods that ask for the most likely reply. Each of their calls sets it, and it overrides the
model's card."""


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
