"""One prompt, one reply in the fault-tolerant edit format (the paper, section 4.2 and 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.adapters.llm.base import Model, user
from tasks.adapters.workbench.base import Workbench
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation
from tasks.methods.method import Assignment, MethodBudget, Proposal
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.patches import from_edits


def zero_shot_plus(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """One sample at temperature 0."""
    yield sample_of(assignment, bench, Conversation(model, budget), sample=0, temperature=0.0)


def sample_of(
    assignment: Assignment, bench: Workbench, conversation: Conversation, *, sample: int, temperature: float
) -> Proposal:
    """Draw one sample; other methods draw several. The parser accepts both edit grammars, whichever the prompt asks
    for."""
    reply = conversation.ask_fitting(
        lambda tokens: [user(prompt("zero_shot_plus.j2", **briefing(assignment, fit(assignment.context, tokens))))],
        temperature=temperature,
        sample=sample,
    )
    answer = from_edits(reply.text, assignment, bench, conversation)
    return conversation.proposal(answer.patch, sample=sample, rung=answer.rung)
