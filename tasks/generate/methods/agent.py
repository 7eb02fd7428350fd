"""A small loop around a shell in the sandbox: the honest baseline of the agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tasks.adapters.llm.base import Message, Model, user
from tasks.adapters.llm.errors import ContextTooLong
from tasks.adapters.workbench.base import Ran, Workbench
from tasks.domain.generation import Mode
from tasks.generate.prompts import prompt
from tasks.methods.answers import from_script
from tasks.methods.conversation import Conversation, OutOfBudget
from tasks.methods.fences import fenced_blocks
from tasks.methods.method import Assignment, Budget, Proposal
from tasks.methods.prompts import briefing, fit

CALLS = 20
COMMAND_SECONDS = 120.0
OUTPUT_CHARACTERS = 8_000
SAME = 3
"""How often one command may be given in a row before the model is told that it goes in circles."""
SCRIPT = "reproduction_script.py"
_SHELLS = ("", "bash", "sh", "shell", "console")


def agent(assignment: Assignment, bench: Workbench, model: Model, budget: Budget) -> Iterator[Proposal]:
    """One sample at temperature 0, of at most 20 replies. What is there when they run out is handed in."""
    talk = Conversation(model, replace(budget, calls=min(CALLS, budget.calls)))
    try:
        _work(assignment, bench, talk)
    except OutOfBudget:
        talk.took("not-submitted")
    except ContextTooLong:
        if not talk.calls:
            raise
        talk.took("context-full")
    yield _handed_in(assignment, bench, talk)


def _work(assignment: Assignment, bench: Workbench, talk: Conversation) -> None:
    """Commands, one for each reply, until one of them is `submit`."""
    facts = briefing(assignment, fit(assignment.context, talk.budget.context_tokens))
    target = "PATH" if assignment.task.test_targets == "path" else "MODULE"
    messages: list[Message] = [user(prompt("agent.j2", calls=talk.budget.calls, target=target, **facts))]
    last: list[str] = []
    while True:
        reply = talk.ask(messages)
        commands = commands_in(reply.text)
        if commands[:1] == ["submit"]:
            talk.took("submitted")
            return
        last = [*last, *commands[:1]][-SAME:]
        messages += [reply.message, user(_answer(bench, talk, commands, last))]


def commands_in(text: str) -> list[str]:
    """The commands of a reply: its blocks that are marked as shell, or not at all."""
    found = [block.body.strip() for block in fenced_blocks(text) if block.mark.lower() in _SHELLS]
    return [command for command in found if command]


def _answer(bench: Workbench, talk: Conversation, commands: list[str], last: list[str]) -> str:
    """What the model is told about its reply."""
    ran: Ran | None = None
    problem = ""
    if not commands:
        talk.wrong("no-command")
        problem = "Your reply held no command. Give one in a block marked bash; `submit` when you are done."
    elif len(last) == SAME and len(set(last)) == 1:
        talk.wrong("looping")
        problem = "You gave this command several times in a row, so it was not run again. Try another way, or submit."
    else:
        if len(commands) > 1:
            talk.wrong("several-commands")
            problem = "Only the first of your commands was run."
        ran = _run(bench, talk, commands[0])
    return prompt("agent_answer.j2", problem=problem, ran=ran, limit=round(COMMAND_SECONDS), left=talk.left)


def _run(bench: Workbench, talk: Conversation, command: str) -> Ran:
    ran = bench.run(["/bin/sh", "-c", command], timeout_s=COMMAND_SECONDS)
    talk.took("timed-out" if ran.timed_out else "ran")
    if len(ran.output) <= OUTPUT_CHARACTERS:
        return ran
    talk.took("output-shortened")
    half = OUTPUT_CHARACTERS // 2
    return replace(ran, output=f"{ran.output[:half]}\n[… left out …]\n{ran.output[-half:]}")


def _handed_in(assignment: Assignment, bench: Workbench, talk: Conversation) -> Proposal:
    """What was changed; in the mode for scripts the script."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        script = bench.read(SCRIPT) or ""
        answer = from_script(f"```\n{script.rstrip()}\n```" if script else "", assignment, bench, talk)
        return talk.proposal(answer.patch, rung=answer.rung)
    patch = bench.diff()
    if not patch:
        talk.wrong("nothing-changed: the checkout is as it was")
    return talk.proposal(patch, rung="exact" if patch else "")
