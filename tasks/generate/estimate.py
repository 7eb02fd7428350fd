"""Estimate the calls and tokens of a method without a model, by rendering and counting its prompts.

The method runs with a model that returns nothing, on a workbench that only reads files. For methods with one call a
sample, the counts are exact up to the tokenizer. For other methods they are a lower bound.
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
    """Estimate for one method on one instance."""

    calls: int
    """Maximum replies that the method asks for."""
    tokens_in: int | None
    """Approximate tokens of all prompts; None if they cannot be rendered in advance."""
    tokens_in_least: int
    """Tokens of the prompts that every run sends, one for each sample; 0 if they cannot be rendered."""
    grows: bool
    """Whether later prompts contain earlier replies and tool output, so that only the model's context limits their
    size."""
    tokens_out: int | None
    """Maximum tokens of the replies; None if only the model or the method's own program limits them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCalls:
    """Estimate of a method on an instance, for several models."""

    estimate: WorkEstimate
    finished: frozenset[str]
    """Models whose result is already in the store."""


class NotEstimable(Exception):
    """Raised if a method does something that cannot run in advance."""


def estimate(method: Method, assignment: Assignment, bench: Workbench, budget: MethodBudget) -> WorkEstimate:
    """Estimate the calls of `method`. Prompts that the silent model did not receive count as long as the longest one
    that it received."""
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
    """Returns the tokens of each prompt; empty if the method uses more than the model and file reads."""
    model = Silent()
    try:
        for _ in method.run(assignment, bench, model, budget):
            pass
    except NotEstimable:
        return ()
    return tuple(model.sizes)


@dataclass(slots=True)
class Silent:
    """A model that returns empty replies and counts the tokens of its prompts."""

    sizes: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "silent"

    def complete(self, question: ModelQuestion) -> Reply:
        self.sizes.append(sum(token_count(message.text) for message in question.messages))
        return Reply(text="")


@dataclass(frozen=True, slots=True)
class PaperBench:
    """A workbench that reads the base commit; every other action raises `NotEstimable`."""

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
