"""A method of two steps: it asks for a plan, and then for the tests. Copy it, and make it yours."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.adapters.llm.base import Model, user
from tasks.adapters.workbench.base import Workbench
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation
from tasks.methods.method import Assignment, MethodBudget, Proposal
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.patches import from_edits

STEPS = 2


def two_steps(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """A plan first, then the tests."""
    conversation = Conversation(model, budget)
    context = fit(assignment.context, budget.context_tokens)
    first = user(
        prompt("assignment.j2", **briefing(assignment, context)) + "\nIn three sentences: what is to be tested?"
    )
    plan = conversation.ask([first])
    second = user(prompt("zero_shot_plus.j2", **briefing(assignment, context)))
    reply = conversation.ask([first, plan.message, second])
    answer = from_edits(reply.text, assignment, bench, conversation)
    yield conversation.proposal(answer.patch, rung=answer.rung)
