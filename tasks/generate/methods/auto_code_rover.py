"""Two stages: gather context with code search, then write the tests in one step (the paper, section 4.4).

The second stage is repeated only if its reply cannot be applied. With `tools=text` the model calls the searches in
plain text, for models without tool calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.adapters.llm.base import Message, Model, ToolCall, user
from tasks.adapters.workbench.base import Workbench
from tasks.generate.code_search import CodeSearch
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation, OutOfBudget, Thread
from tasks.methods.method import Assignment, MethodBudget, Proposal, replies
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.patches import Answer, from_replacements
from tasks.methods.replies.text_calls import calls_in, signatures
from tasks.methods.tools import Toolbox

ROUNDS = 10
ATTEMPTS = 3
"""Maximum replies of the second stage."""
FOUND_CHARACTERS = 60_000
"""Characters of search results that the second stage gets; the oldest results are dropped first."""


def auto_code_rover(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """One sample at temperature 0."""
    conversation = Conversation(model, budget)
    try:
        found, conclusion = _search(assignment, bench, conversation)
        answer = _write(assignment, bench, conversation, found, conclusion)
    except OutOfBudget:
        yield conversation.proposal("")
        return
    yield conversation.proposal(answer.patch, rung=answer.rung)


def _search(assignment: Assignment, bench: Workbench, conversation: Conversation) -> tuple[list[str], str]:
    """Returns the search results and the model's conclusion. The conclusion is empty if the model used all rounds."""
    facts = briefing(assignment, fit(assignment.context, conversation.budget.context_tokens))
    rounds = rounds_within(replies(ROUNDS + ATTEMPTS, conversation.budget, assignment.variant))
    thread = Thread(conversation, step="search")
    tools = Toolbox(thread, CodeSearch(bench).tools)
    as_text = assignment.variant["tools"] == "text"
    told = signatures(tools.specs) if as_text else []
    thread.messages.append(user(prompt("auto_code_rover_search.j2", rounds=rounds, signatures=told, **facts)))
    for _ in range(rounds):
        reply = thread.go_on(tools=() if as_text else tools.specs)
        calls = calls_in(reply.text, tools.specs) if as_text else reply.tool_calls
        if not calls:
            conversation.took("context-gathered")
            return list(tools.shown.values()), reply.text
        answers = tools.answer(calls)
        thread.messages += [_in_one(calls, answers)] if as_text else answers
    conversation.took("rounds-used-up")
    return list(tools.shown.values()), ""


def rounds_within(calls: int) -> int:
    """Returns the search rounds for this number of replies. The second stage keeps `ATTEMPTS` replies; with few replies
    there is still one round if one reply is left for it."""
    return max(min(1, calls - 1), calls - ATTEMPTS)


def _write(
    assignment: Assignment, bench: Workbench, conversation: Conversation, found: list[str], conclusion: str
) -> Answer:
    """Ask for the tests, and ask again while the reply cannot be applied."""
    facts = briefing(assignment, ())
    text = prompt("auto_code_rover_write.j2", found=_newest(found), conclusion=conclusion, **facts)
    thread = Thread(conversation, step="write")
    for attempt in range(ATTEMPTS):
        answer = from_replacements(thread.ask(text).text, assignment, bench, conversation)
        if answer.applied or attempt == ATTEMPTS - 1:
            break
        conversation.took("retry")
        conversation.retries += 1
        text = prompt("auto_code_rover_retry.j2", reason=conversation.reasons[-1], mode=assignment.mode.value)
    return answer


def _in_one(calls: Sequence[ToolCall], answers: Sequence[Message]) -> Message:
    """Returns the tool results as one message, each under the name of its call."""
    return user("\n\n".join(f"{call.name}:\n{answer.text}" for call, answer in zip(calls, answers, strict=True)))


def _newest(found: list[str]) -> list[str]:
    """Returns the latest results that fit into `FOUND_CHARACTERS`, in order."""
    kept: list[str] = []
    for text in reversed(found):
        if sum(map(len, kept)) + len(text) > FOUND_CHARACTERS:
            break
        kept.insert(0, text)
    return kept
