"""A small agent: a loop around a shell in the sandbox, as the baseline for third-party agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tasks.adapters.llm.base import Model
from tasks.adapters.llm.errors import ContextTooLong
from tasks.adapters.text import without_middle
from tasks.adapters.workbench.base import CommandResult, Workbench
from tasks.domain.generation import Mode
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation, OutOfBudget, Thread
from tasks.methods.method import Assignment, MethodBudget, Proposal, replies
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.fences import fenced_blocks
from tasks.methods.replies.patches import from_script

CALLS = 20
COMMAND_SECONDS = 120.0
OUTPUT_CHARACTERS = 8_000
SAME = 3
"""Identical commands in a row after which the agent refuses the command and tells the model that it loops."""
SCRIPT = "reproduction_script.py"
_SHELLS = ("", "bash", "sh", "shell", "console")


def agent(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """One sample at temperature 0, with at most 20 replies unless the experiment sets another number. When no replies
    are left, the current changes are submitted."""
    conversation = Conversation(model, replace(budget, calls=replies(CALLS, budget, assignment.variant)))
    try:
        _work(assignment, bench, conversation)
    except OutOfBudget:
        conversation.took("not-submitted")
    except ContextTooLong:
        if not conversation.calls:
            raise
        conversation.took("context-full")
    yield _handed_in(assignment, bench, conversation)


def _work(assignment: Assignment, bench: Workbench, conversation: Conversation) -> None:
    """Run one command for each reply, until the model replies `submit`."""
    facts = briefing(assignment, fit(assignment.context, conversation.budget.context_tokens))
    target = "PATH" if assignment.task.test_targets == "path" else "MODULE"
    text = prompt("agent.j2", calls=conversation.budget.calls, target=target, **facts)
    thread, last = Thread(conversation), list[str]()
    while True:
        commands = commands_in(thread.ask(text).text)
        if commands[:1] == ["submit"]:
            conversation.took("submitted")
            return
        last = [*last, *commands[:1]][-SAME:]
        text = _answer(bench, conversation, commands, last)


def commands_in(text: str) -> list[str]:
    """Returns the commands of a reply: its blocks that are marked as shell or unmarked."""
    found = [block.body.strip() for block in fenced_blocks(text) if block.mark.lower() in _SHELLS]
    return [command for command in found if command]


def _answer(bench: Workbench, conversation: Conversation, commands: list[str], last: list[str]) -> str:
    """Returns the next prompt: the output of the command, or the problem with the reply."""
    ran: CommandResult | None = None
    problem = ""
    if not commands:
        conversation.wrong("no-command")
        problem = "Your reply held no command. Give one in a block marked bash; `submit` when you are done."
    elif len(last) == SAME and len(set(last)) == 1:
        conversation.wrong("looping")
        problem = "You gave this command several times in a row, so it was not run again. Try another way, or submit."
    else:
        if len(commands) > 1:
            conversation.wrong("several-commands")
            problem = "Only the first of your commands was run."
        ran = _run(bench, conversation, commands[0])
    return prompt("agent_answer.j2", problem=problem, ran=ran, limit=round(COMMAND_SECONDS), left=conversation.left)


def _run(bench: Workbench, conversation: Conversation, command: str) -> CommandResult:
    ran = bench.run(["/bin/sh", "-c", command], timeout_s=COMMAND_SECONDS)
    conversation.took("timed-out" if ran.timed_out else "ran")
    if len(ran.output) <= OUTPUT_CHARACTERS:
        return ran
    conversation.took("output-shortened")
    return replace(ran, output=without_middle(ran.output, OUTPUT_CHARACTERS))


def _handed_in(assignment: Assignment, bench: Workbench, conversation: Conversation) -> Proposal:
    """Returns the changes of the checkout; in script mode, the script."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        script = bench.read(SCRIPT) or ""
        answer = from_script(f"```\n{script.rstrip()}\n```" if script else "", assignment, bench, conversation)
        return conversation.proposal(answer.patch, rung=answer.rung)
    patch = bench.diff()
    if not patch:
        conversation.wrong("nothing-changed: the checkout is as it was")
    return conversation.proposal(patch, rung="exact" if patch else "")
