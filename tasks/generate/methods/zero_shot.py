"""One prompt with issue and retrieved files, one unified diff (the paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.adapters.llm.base import Model, user
from tasks.adapters.workbench.base import Workbench
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation
from tasks.methods.method import Assignment, MethodBudget, Proposal
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.patches import from_diff


def zero_shot(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """One sample at temperature 0."""
    conversation = Conversation(model, budget)
    reply = conversation.ask_fitting(
        lambda tokens: [user(prompt("zero_shot.j2", **briefing(assignment, fit(assignment.context, tokens))))]
    )
    answer = from_diff(reply.text, assignment, bench, conversation)
    yield conversation.proposal(answer.patch, rung=answer.rung)
