"""What a method would ask for, without a model: the sizes of its prompts, counted by rendering them.

The method talks to a model that says nothing, on a bench that only shows files. So the prompts of methods that ask once
for each sample are exact up to the tokenizer; of others it is the least that they send.
"""

# ruff: noqa: ARG002 - arguments are named by the protocols

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tasks.adapters.debugger.session import DebugLimits, DebugSession
from tasks.adapters.llm.base import ModelQuestion, Reply
from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.retrieval.budget import token_count
from tasks.adapters.workbench.base import CommandResult, Hit, Tested, Workbench
from tasks.generate.methods.external import External
from tasks.methods.method import Assignment, Method, MethodBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEstimate:
    """One method on one instance."""

    calls: int
    """Most replies that it asks for."""
    tokens_in: int | None
    """Of all its prompts together, about; null where they cannot be rendered beforehand."""
    tokens_in_least: int
    """Of the prompts that it sends in any case, one for each sample; 0 where they cannot be rendered."""
    grows: bool
    """Whether later prompts hold earlier replies and what tools said, so that only the model's context limits them."""
    tokens_out: int | None
    """Most that the replies can have; null where only the model limits them, or the method's own program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCalls:
    """A method on an instance, for several models."""

    estimate: WorkEstimate
    finished: frozenset[str]
    """Models with which it is in the store."""


class NotEstimable(Exception):
    """The method does something that cannot be done beforehand."""


def estimate(method: Method, assignment: Assignment, bench: Workbench, budget: MethodBudget) -> WorkEstimate:
    """What `method` would ask for. Prompts that a silent model does not get to see count as the longest it saw."""
    calls, room = method.calls(budget, assignment.variant), assignment.variant.count("reasoning_tokens") or 0
    if method.external:
        least = token_count(method.run.errand(assignment, budget)) if isinstance(method.run, External) else 0
        return WorkEstimate(calls=calls, tokens_in=None, tokens_in_least=least, grows=True, tokens_out=None)
    sizes = _prompts(method, assignment, bench, budget)
    unseen = max(0, calls - len(sizes))
    tokens = sum(sizes) + unseen * max(sizes) if sizes else None
    return WorkEstimate(
        calls=calls,
        tokens_in=tokens,
        tokens_in_least=sum(sorted(sizes)[: method.samples]),
        grows=not sizes or (method.grows and calls > method.samples),
        tokens_out=None if budget.reply_tokens is None else calls * (budget.reply_tokens + room),
    )


def _prompts(method: Method, assignment: Assignment, bench: Workbench, budget: MethodBudget) -> tuple[int, ...]:
    """Tokens of each prompt; none where the method does more than ask."""
    model = Silent()
    try:
        for _ in method.run(assignment, bench, model, budget):
            pass
    except NotEstimable:
        return ()
    return tuple(model.sizes)


@dataclass(slots=True)
class Silent:
    """A model that says nothing and counts what it is told."""

    sizes: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "silent"

    def complete(self, question: ModelQuestion) -> Reply:
        self.sizes.append(sum(token_count(message.text) for message in question.messages))
        return Reply(text="")


@dataclass(frozen=True, slots=True)
class PaperBench:
    """A workbench that shows the base commit and does nothing."""

    paths: tuple[str, ...]
    read_base: ReadBase

    def base(self, path: str) -> bytes | None:
        return self.read_base(path)

    def read(self, path: str) -> str | None:
        data = self.read_base(path)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, path: str, text: str | None) -> None:
        raise NotEstimable

    def search(self, text: str, *, under: str = "", limit: int = 50) -> tuple[Hit, ...]:
        raise NotEstimable

    def run(self, argv: Sequence[str], *, timeout_s: float = 120.0) -> CommandResult:
        raise NotEstimable

    def run_tests(self, files: Sequence[str], cases: Sequence[str] = ()) -> Tested:
        raise NotEstimable

    def debug(self, path: str, case_id: str, limits: DebugLimits | None = None) -> AbstractContextManager[DebugSession]:
        raise NotEstimable

    def diff(self) -> str:
        return ""

    def fork(self) -> AbstractContextManager[Workbench]:
        raise NotEstimable
