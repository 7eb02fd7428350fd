"""A method's conversation with its model: counts replies, enforces the budget, and records branches."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tasks.adapters.llm.base import Finish, Message, Model, ModelQuestion, Options, Reply, Role, ToolSpec, user
from tasks.adapters.llm.errors import ContextTooLong
from tasks.adapters.llm.transport.reasoning import without_thoughts
from tasks.adapters.retrieval.budget import token_count
from tasks.methods.method import MethodBudget, Proposal

MAX_CHARS = 1_000_000
"""Maximum characters of a reply's text, and of a tool call's arguments: three times the longest output limit of a
model."""
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")

SHORTER = 2
"""How often the context is halved if it is too long for the model."""
LEFT_OUT = "[left out to save room]"

Value = TypeVar("Value")


class OutOfBudget(Exception):
    """Raised when the method has used up its replies or its time. Methods then submit what they have."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        """`calls` or `seconds`."""


class Unusable(Exception):
    """Raised for a reply that a method cannot use. `detail` is sent to the model."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        """A slug."""
        self.detail = detail


@dataclass(slots=True)
class Conversation:
    """All messages between a method and its model, in one or several threads, under one budget."""

    model: Model
    budget: MethodBudget
    path: list[str] = field(default_factory=list)
    """Branches so far."""
    reasons: list[str] = field(default_factory=list)
    calls: int = 0
    """Replies so far."""
    retries: int = 0
    clock: Callable[[], float] = time.monotonic
    """A monotonic clock, in seconds."""
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    @property
    def left(self) -> int:
        """Replies left in the budget."""
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
        """Send the messages and return the reply. Raises `OutOfBudget` if the budget has none left."""
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
        """Build messages for a number of context tokens and return the reply. Halves the number if the context is too
        long for the model."""
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
        """Record a problem with a reply. Its slug is also recorded as a branch."""
        self.reasons.append(reason)
        self.took(reason.partition(":")[0])

    def refused(self, problem: Unusable, *, last: bool) -> None:
        """Record a reply that the method cannot use. It counts as a retry unless it is the `last` one."""
        self.wrong(str(problem))
        self.retries += not last

    def trimmed(self, what: str, detail: str) -> None:
        """Record that something was left out of a prompt."""
        self.wrong(f"{what}-trimmed: {detail}")

    def proposal(self, patch: str, *, sample: int = 0, rung: str = "") -> Proposal:
        """Returns a proposal with the records of the whole conversation."""
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
    """A sequence of messages that grows with every reply."""

    conversation: Conversation
    messages: list[Message] = field(default_factory=list)
    temperature: float | None = 0.0
    sample: int = 0
    step: str = ""
    """Step of the method: `judge`, `search`."""
    tokens: int | None = None
    """Maximum tokens of a prompt; None for no limit. Above it, the oldest messages after the opening are emptied
    first."""

    def ask(self, text: str, **options: Any) -> Reply:
        """Add a message and return the reply; `options` as for `Conversation.ask`."""
        self.messages.append(user(text))
        return self.go_on(**options)

    def go_on(self, **options: Any) -> Reply:
        """Send the messages so far and return the reply."""
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
        """Ask until `read` accepts a reply, at most `tries` times, and return its value. After an `Unusable` reply,
        `again` builds the next message. The last `Unusable` is raised."""
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
        """Whether a text is still in the messages. A trimmed text is not, and may be asked for again."""
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


def presentable(reply: Reply) -> Reply:
    """Returns the reply as methods see it: text that every later step can store, without the model's reasoning.

    Half a surrogate pair cannot be encoded, and a NUL cannot be an argument of a process. Both become U+FFFD. Servers
    of open models leave the reasoning in the text, between tags; an answer drafted there does not count. Text beyond
    `MAX_CHARS` is a loop of the model. The reply cache keeps the original reply.
    """
    calls = tuple(
        replace(call, call_id=_clean(call.call_id), name=_clean(call.name), arguments=_clean(call.arguments))
        for call in reply.tool_calls
    )
    return replace(reply, text=without_thoughts(_clean(reply.text)), tool_calls=calls)


def _clean(text: str) -> str:
    return _UNSPEAKABLE.sub("\ufffd", text[:MAX_CHARS])
