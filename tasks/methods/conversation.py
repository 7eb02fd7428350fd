"""A method's talk with its model: counts replies, keeps to the budget, and notes the branches taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tasks.adapters.llm.base import Finish, Message, Model, Reply, ToolSpec
from tasks.adapters.llm.errors import ContextTooLong
from tasks.methods.method import Budget, Proposal

SHORTER = 2
"""How often a context that is too long for the model is halved."""


class OutOfBudget(Exception):
    """The method has used up its replies or its time. Methods end with what they have."""


@dataclass(slots=True)
class Conversation:
    model: Model
    budget: Budget
    path: list[str] = field(default_factory=list)
    """Branches taken so far."""
    reasons: list[str] = field(default_factory=list)
    calls: int = 0
    retries: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        """Replies that may still be asked for."""
        return max(0, self.budget.calls - self.calls)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        temperature: float = 0.0,
        sample: int = 0,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int | None = None,
    ) -> Reply:
        """One reply; `OutOfBudget` where the budget has none left."""
        if not self.left or time.monotonic() - self.begun > self.budget.seconds:
            self.took("out-of-budget")
            raise OutOfBudget
        reply = self.model.complete(
            messages,
            tools=tools,
            temperature=temperature,
            sample=sample,
            max_tokens=max_tokens or self.budget.reply_tokens,
        )
        self.calls += 1
        self.took("asked")
        if reply.finish_reason is Finish.LENGTH:
            self.took("cut")
        return reply

    def ask_fitting(
        self, messages: Callable[[int], Sequence[Message]], *, temperature: float = 0.0, sample: int = 0
    ) -> Reply:
        """One reply to the messages for a number of context tokens, halved while the model takes no more."""
        tokens = self.budget.context_tokens
        for _ in range(SHORTER):
            try:
                return self.ask(messages(tokens), temperature=temperature, sample=sample)
            except ContextTooLong:
                self.took("context-halved")
                tokens //= 2
        return self.ask(messages(tokens), temperature=temperature, sample=sample)

    def took(self, branch: str) -> None:
        self.path.append(branch)

    def wrong(self, reason: str) -> None:
        """Notes what is wrong with an answer; its slug is a branch."""
        self.reasons.append(reason)
        self.took(reason.partition(":")[0])

    def proposal(self, patch: str, *, sample: int = 0, rung: str = "") -> Proposal:
        """What the talk came to, with the notes of all of it."""
        return Proposal(
            sample=sample,
            patch=patch,
            path=tuple(self.path),
            rung=rung,
            reasons=tuple(self.reasons),
            retries=self.retries,
            calls=self.calls,
        )
