"""Two stages: gather context with code search, then write the tests in one step (the paper, section 4.4).

The second stage is repeated only where the answer cannot be applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tasks.adapters.llm.base import Message, Model, ToolCall, tool_result, user
from tasks.adapters.workbench.base import Workbench
from tasks.generate.code_search import TOOLS, CodeSearch
from tasks.generate.prompts import prompt
from tasks.methods.answers import Answer, from_replacements
from tasks.methods.conversation import Conversation, OutOfBudget
from tasks.methods.method import Assignment, Budget, Proposal
from tasks.methods.prompts import briefing, fit

ROUNDS = 10
ATTEMPTS = 3
"""Answers of the second stage."""
FOUND_CHARACTERS = 60_000
"""Of what was found, for the second stage; the oldest goes first."""


def auto_code_rover(assignment: Assignment, bench: Workbench, model: Model, budget: Budget) -> Iterator[Proposal]:
    """One sample at temperature 0."""
    talk = Conversation(model, budget)
    try:
        found, conclusion = _search(assignment, bench, talk)
        answer = _write(assignment, bench, talk, found, conclusion)
    except OutOfBudget:
        yield talk.proposal("")
        return
    yield talk.proposal(answer.patch, rung=answer.rung)


def _search(assignment: Assignment, bench: Workbench, talk: Conversation) -> tuple[list[str], str]:
    """What the searches showed, and what the model concluded (empty where it searched to the end)."""
    facts = briefing(assignment, fit(assignment.context, talk.budget.context_tokens))
    messages: list[Message] = [user(prompt("auto_code_rover_search.j2", rounds=ROUNDS, **facts))]
    search, shown = CodeSearch(bench), dict[str, str]()
    for _ in range(ROUNDS):
        reply = talk.ask(messages, tools=TOOLS)
        messages.append(reply.message)
        if not reply.tool_calls:
            talk.took("context-gathered")
            return list(shown.values()), reply.text
        messages += [tool_result(call, _called(search, call, shown, talk)) for call in reply.tool_calls]
    talk.took("rounds-used-up")
    return list(shown.values()), ""


def _called(search: CodeSearch, call: ToolCall, shown: dict[str, str], talk: Conversation) -> str:
    """What a tool answers; every problem is told to the model."""
    arguments = call.parsed()
    tools: dict[str, Callable[..., str]] = {
        "search_class": search.search_class,
        "search_method": search.search_method,
        "search_code": search.search_code,
        "read_file": search.read_file,
    }
    if call.name not in tools:
        talk.wrong(f"unknown-tool: {call.name}")
        return f"There is no tool {call.name}. There are {', '.join(tools)}."
    problem = "they are no JSON object" if arguments is None else _misfit(call.name, arguments)
    if arguments is None or problem:
        talk.wrong(f"bad-arguments: {call.name}: {problem}")
        return f"The arguments of {call.name} do not fit: {problem}."
    key = f"{call.name} {sorted(arguments.items())}"
    if key in shown:
        talk.took("repeated")
        return "You have seen this already. Search for something else, or come to your conclusion."
    talk.took(call.name)
    shown[key] = tools[call.name](**arguments)
    return shown[key]


def _misfit(name: str, arguments: Mapping[str, Any]) -> str:
    """What is wrong with arguments, held against the tool's schema; empty if nothing is."""
    schema = next(tool.parameters for tool in TOOLS if tool.name == name)
    kinds = {"string": str, "integer": int}
    if missing := [one for one in schema["required"] if not arguments.get(one)]:
        return f"{', '.join(missing)} must be given"
    for key, value in arguments.items():
        if key not in schema["properties"]:
            return f"{key} is unknown"
        if not isinstance(value, kinds[schema["properties"][key]["type"]]):
            return f"{key} must be a {schema['properties'][key]['type']}"
    return ""


def _write(assignment: Assignment, bench: Workbench, talk: Conversation, found: list[str], conclusion: str) -> Answer:
    """The tests; asked for again while the answer cannot be applied."""
    facts = briefing(assignment, ())
    text = prompt("auto_code_rover_write.j2", found=_newest(found), conclusion=conclusion, **facts)
    messages: list[Message] = [user(text)]
    for attempt in range(ATTEMPTS):
        reply = talk.ask(messages)
        answer = from_replacements(reply.text, assignment, bench, talk)
        if answer.applied or attempt == ATTEMPTS - 1:
            break
        talk.took("retry")
        talk.retries += 1
        again = prompt("auto_code_rover_retry.j2", reason=talk.reasons[-1], mode=assignment.mode.value)
        messages += [reply.message, user(again)]
    return answer


def _newest(found: list[str]) -> list[str]:
    """The last of the findings that fit together, in order."""
    kept: list[str] = []
    for text in reversed(found):
        if sum(map(len, kept)) + len(text) > FOUND_CHARACTERS:
            break
        kept.insert(0, text)
    return kept
