"""A conversation with a model that stays within its limits: calls, time, tokens of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tasks.adapters.llm.base import Message, Model, Role, system, user
from tasks.adapters.llm.errors import ContentFiltered, ContextTooLong, ProviderFailed
from tasks.adapters.retrieval.budget import estimated_tokens
from tasks.domain.localization import LocalizationStatus, Turn
from tasks.localize.settings import AgentSettings
from tasks.localize.trail import Trail

Clock = Callable[[], float]
"""Seconds that only grow."""

LEFT_OUT = "[left out to save room]"


class GaveUp(Exception):
    """The localization, or its review, is over without an answer."""

    def __init__(self, status: LocalizationStatus, turn: Turn, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.status, self.turn, self.reason, self.detail = status, turn, reason, detail


@dataclass(slots=True, kw_only=True)
class Limits:
    """What is left of a localization's calls and seconds."""

    settings: AgentSettings
    clock: Clock
    started: float
    calls: int = 0

    def spend(self, turn: Turn) -> None:
        """Count one call. `GaveUp` where there is none left."""
        if self.clock() - self.started > self.settings.wall_s:
            raise GaveUp(LocalizationStatus.TIMEOUT, turn, "wall-time", f"{self.settings.wall_s:g} s are over")
        if self.calls >= self.settings.calls:
            raise GaveUp(LocalizationStatus.ABORTED, turn, "too-many-calls", f"{self.calls} calls were made")
        self.calls += 1


@dataclass(slots=True, kw_only=True)
class Conversation:
    """Messages so far. The system message and the first question stay; what was shown first goes first."""

    model: Model
    limits: Limits
    trail: Trail
    messages: list[Message] = field(default_factory=list)

    def ask(self, turn: Turn, text: str) -> str:
        """The model's reply to `text`. `GaveUp` where it cannot be had; errors of ours pass through."""
        self.messages.append(user(text))
        self.limits.spend(turn)
        self._trim(turn)
        reply = self._complete(turn)
        self.messages.append(Message(role=Role.ASSISTANT, text=reply))
        return reply

    def _complete(self, turn: Turn) -> str:
        settings = self.limits.settings
        try:
            return self.model.complete(
                self.messages,
                temperature=settings.temperature,
                sample=settings.sample,
                max_tokens=settings.reply_tokens,
            ).text
        except ProviderFailed as error:
            if error.kind != "timeout":
                raise
            raise GaveUp(LocalizationStatus.TIMEOUT, turn, "model-timeout", str(error)) from error
        except (ContextTooLong, ContentFiltered) as error:
            raise GaveUp(LocalizationStatus.ABORTED, turn, error.slug, str(error)) from error

    def _trim(self, turn: Turn) -> None:
        """Empty the oldest messages between the first question and the last until the prompt fits."""
        sizes = [estimated_tokens(message.text) for message in self.messages]
        for at in range(2, len(self.messages) - 1):
            if sum(sizes) <= self.limits.settings.prompt_tokens:
                return
            if sizes[at] > estimated_tokens(LEFT_OUT):
                self.messages[at] = replace(self.messages[at], text=LEFT_OUT)
                self.trail.trimmed(turn, "prompt", f"message {at} of {sizes[at]} tokens")
                sizes[at] = estimated_tokens(LEFT_OUT)


def opened(model: Model, limits: Limits, trail: Trail, first: str) -> Conversation:
    """A conversation that begins with a system message."""
    return Conversation(model=model, limits=limits, trail=trail, messages=[system(first)])


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a text that is more than `limit` tokens; the text itself if it is not."""
    if estimated_tokens(text) <= limit:
        return text
    half = max(1, len(text) * limit // estimated_tokens(text) // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
