"""A method's conversation with its model: counts replies, keeps to the budget, notes the branches taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tasks.adapters.llm.base import Finish, Message, Model, ModelQuestion, Options, Reply, Role, ToolSpec, user
from tasks.adapters.llm.errors import ContextTooLong
from tasks.adapters.retrieval.budget import token_count
from tasks.methods.method import MethodBudget, Proposal
from tasks.methods.replies.visible import presentable

SHORTER = 2
"""How often a context that is too long for the model is halved."""
LEFT_OUT = "[left out to save room]"

Value = TypeVar("Value")


class OutOfBudget(Exception):
    """The method has used up its replies or its time. Methods end with what they have."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        """`calls` or `seconds`."""


class Unusable(Exception):
    """A reply that cannot be acted on. `detail` is what the model is told about it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        """A slug."""
        self.detail = detail


@dataclass(slots=True)
class Conversation:
    """All that a method and its model say to each other, in one thread of messages or several, under one budget."""

    model: Model
    budget: MethodBudget
    path: list[str] = field(default_factory=list)
    """Branches taken so far."""
    reasons: list[str] = field(default_factory=list)
    calls: int = 0
    """Replies so far."""
    retries: int = 0
    clock: Callable[[], float] = time.monotonic
    """Seconds that only grow."""
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    @property
    def left(self) -> int:
        """Replies that may still be asked for."""
        return max(0, self.budget.calls - self.calls)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        temperature: float | None = 0.0,
        sample: int = 0,
        tools: Sequence[ToolSpec] = (),
        step: str = "",
    ) -> Reply:
        """One reply; `OutOfBudget` where the budget has none left."""
        overdue = self.clock() - self.begun > self.budget.seconds
        if overdue or not self.left:
            self.took("out-of-budget")
            raise OutOfBudget("seconds" if overdue else "calls")
        options = Options(temperature=temperature, max_tokens=self.budget.reply_tokens)
        question = ModelQuestion(
            messages=tuple(messages), tools=tuple(tools), options=options, sample=sample, step=step
        )
        reply = presentable(self.model.complete(question))
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

    def refused(self, problem: Unusable, *, last: bool) -> None:
        """Notes a reply that cannot be acted on; after the `last` one the model is not asked again."""
        self.wrong(str(problem))
        self.retries += not last

    def trimmed(self, what: str, detail: str) -> None:
        """Notes that something was left out of a prompt."""
        self.wrong(f"{what}-trimmed: {detail}")

    def proposal(self, patch: str, *, sample: int = 0, rung: str = "") -> Proposal:
        """What the conversation came to, with the notes of all of it."""
        return Proposal(
            sample=sample,
            patch=patch,
            path=tuple(self.path),
            rung=rung,
            reasons=tuple(self.reasons),
            retries=self.retries,
            calls=self.calls,
        )


@dataclass(slots=True)
class Thread:
    """Messages that grow with every reply."""

    conversation: Conversation
    messages: list[Message] = field(default_factory=list)
    temperature: float | None = 0.0
    sample: int = 0
    step: str = ""
    """Which part of the method this is: `judge`, `search`."""
    tokens: int | None = None
    """Of one prompt. Where it is more, what was said first goes first, but for the opening. Null for no limit."""

    def ask(self, text: str, **options: Any) -> Reply:
        """The reply to a further message; `options` as of `Conversation.ask`."""
        self.messages.append(user(text))
        return self.go_on(**options)

    def go_on(self, **options: Any) -> Reply:
        """The reply to the messages so far."""
        if self.tokens is not None:
            self._trim(self.tokens)
        told: dict[str, Any] = {"temperature": self.temperature, "sample": self.sample, "step": self.step}
        reply = self.conversation.ask(self.messages, **told | options)
        self.messages.append(reply.message)
        return reply

    def ask_until(
        self,
        text: str,
        read: Callable[[str], Value],
        again: Callable[[Unusable], str],
        *,
        tries: int,
        **options: Any,
    ) -> Value:
        """What `read` makes of the first reply that it can. The next message for one that is `Unusable` is `again` of
        it; that of the last reply is raised."""
        for left in reversed(range(tries)):
            try:
                return read(self.ask(text, **options).text)
            except Unusable as problem:
                self.conversation.refused(problem, last=not left)
                if not left:
                    raise
                text = again(problem)
        raise ValueError("tries must be 1 or more")

    def holds(self, text: str) -> bool:
        """Whether a text is in its messages: what was trimmed is not, and can be asked for again."""
        return any(text.strip() in message.text for message in self.messages)

    def _trim(self, tokens: int) -> None:
        """Empty the oldest messages between the opening and the last one until the prompt fits."""
        opening = [message.role for message in self.messages].index(Role.USER)
        sizes = [token_count(message.text) for message in self.messages]
        for at in range(opening + 1, len(self.messages) - 1):
            if sum(sizes) <= tokens:
                return
            if sizes[at] > token_count(LEFT_OUT):
                self.messages[at] = replace(self.messages[at], text=LEFT_OUT)
                self.conversation.trimmed("prompt", f"message {at} of {sizes[at]} tokens")
                sizes[at] = token_count(LEFT_OUT)
