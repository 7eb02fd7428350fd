"""What decides a localization, beside the issue and the model."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.errors import UsageError
from tasks.domain.localization import TOP_N, RetrieverKind
from tasks.methods.method import MethodBudget

CHOICES = (10, 20, 30)
"""Numbers of results that the agent can ask BM25 for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25Settings:
    """BM25 by itself."""

    variant: RetrieverKind = RetrieverKind.CODE
    with_tests: bool = False
    k: int = 30
    """Depth of the stored ranking, 10 to 30: a smaller k is its beginning."""

    def __post_init__(self) -> None:
        if not CHOICES[0] <= self.k <= CHOICES[-1]:
            raise UsageError(f"k is {self.k}", hint=f"choose {CHOICES[0]} to {CHOICES[-1]} results")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The agent, with all its limits."""

    top_n: int = TOP_N
    """Files asked for."""
    variant: RetrieverKind = RetrieverKind.CODE
    with_tests: bool = False
    temperature: float | None = 0.0
    sample: int = 0
    views: int = 15
    views_per_file: int = 3
    review_views: int = 2
    """Further views while reviewing."""
    reprompts: int = 2
    """For one question; the reply after the last one ends the turn."""
    calls: int = 40
    """Model calls in all."""
    wall_s: float = 900.0
    part_tokens: int = 2_000
    """Of a file, shown by one view."""
    statement_tokens: int = 8_000
    prompt_tokens: int = 28_000
    """Of one call: what was viewed first is left out where it is more."""
    reply_tokens: int | None = None
    """Of one reply. Null for the model's own limit."""

    @property
    def budget(self) -> MethodBudget:
        return MethodBudget(calls=self.calls, reply_tokens=self.reply_tokens, seconds=self.wall_s)

    def __post_init__(self) -> None:
        if self.top_n < 1:
            raise UsageError(f"top_n is {self.top_n}", hint="ask for at least one file")
