"""A sub-agent: an opening, tools, and a tool to hand something in with. What it did is told when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

from tasks.adapters.llm.base import Model, ModelQuestion, Reply, user
from tasks.domain.repair import SubAgent
from tasks.methods.conversation import Conversation, Thread
from tasks.methods.method import MethodBudget
from tasks.methods.tools import ModelTool, SubmitTool, work_until_submitted
from tasks.repair.settings import TdflowLimits

REMINDER = "Call a tool. When you are done, hand in what you were asked for with the tool for it."

Models = Callable[[SubAgent, str], Model]
"""The model for one sub-agent, and the name of its step: `explore-files 2`, `debug-one 2.3`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken:
    """What one sub-agent did."""

    iteration: int
    agent: SubAgent
    case_id: str
    submission: str | None
    asked: str
    """The model."""
    conversation: Conversation
    cost_usd: float | None
    started_at: datetime
    finished_at: datetime


@dataclass(slots=True)
class Costed:
    """A model, and what its replies cost when they were made."""

    behind: Model
    usd: float | None = 0.0

    @property
    def name(self) -> str:
        return self.behind.name

    def complete(self, question: ModelQuestion) -> Reply:
        reply = self.behind.complete(question)
        self.usd = None if self.usd is None or reply.cost_usd is None else self.usd + reply.cost_usd
        return reply


@dataclass(slots=True, kw_only=True)
class SubAgents:
    """Those of one attempt. Thread-safe."""

    models: Models
    limits: TdflowLimits
    step: Callable[[StepTaken], None]
    _lock: Lock = field(default_factory=Lock)

    def work(
        self,
        agent: SubAgent,
        number: int,
        opening: str,
        tools: dict[str, ModelTool],
        submission: SubmitTool[str],
        turns: int,
        name: str = "",
        case_id: str = "",
    ) -> str | None:
        """What a sub-agent hands in within its turns."""
        started, limits = datetime.now(UTC), self.limits
        model = Costed(self.models(agent, f"{agent.value} {name or number}"))
        budget = MethodBudget(calls=turns, reply_tokens=limits.reply_tokens, seconds=limits.seconds)
        conversation = Conversation(model, budget)
        thread = Thread(
            conversation,
            [user(opening)],
            temperature=limits.temperature,
            sample=max(0, number - 1),  # the same prompt in a later iteration asks for another answer
            step=agent.value,
            tokens=limits.prompt_tokens,
        )
        handed_in = work_until_submitted(thread, tools, submission, reminder=REMINDER)
        taken = StepTaken(
            iteration=number,
            agent=agent,
            case_id=case_id,
            submission=handed_in,
            asked=model.name,
            conversation=conversation,
            cost_usd=model.usd,
            started_at=started,
            finished_at=datetime.now(UTC),
        )
        with self._lock:
            self.step(taken)
        return handed_in
