"""What a method says to its model: budget, threads that are kept short, questions that are asked again."""

from __future__ import annotations

from itertools import count

import pytest

from tasks.adapters.llm.base import Finish, Reply, system
from tasks.methods.conversation import LEFT_OUT, Conversation, OutOfBudget, Thread, Unusable
from tasks.methods.method import MethodBudget
from tests.fakes.scripted_model import Scripted, Step


def conversation(*replies: Step, budget: MethodBudget | None = None) -> tuple[Conversation, Scripted]:
    model = Scripted(replies)
    return Conversation(model, budget or MethodBudget()), model


def number(text: str) -> int:
    if not text.isdecimal():
        raise Unusable("no-number", f"{text!r} is no number")
    return int(text)


def again(problem: Unusable) -> str:
    return f"Not so: {problem.detail}."


def test_a_question_is_asked_again_until_the_reply_can_be_read() -> None:
    talk, model = conversation("one", "two", "3")
    thread = Thread(talk)
    assert thread.ask_until("Which?", number, again, tries=3) == 3
    assert [message.text for message in thread.messages] == [
        *("Which?", "one", "Not so: 'one' is no number."),
        *("two", "Not so: 'two' is no number.", "3"),
    ]
    assert talk.path == ["asked", "no-number", "asked", "no-number", "asked"]
    assert (talk.retries, talk.calls, model.finished()) == (2, 3, True)


def test_the_last_reply_is_raised() -> None:
    talk, _ = conversation("one", "two")
    with pytest.raises(Unusable, match="'two'"):
        Thread(talk).ask_until("Which?", number, again, tries=2)
    assert (talk.retries, talk.reasons) == (1, ["no-number: 'one' is no number", "no-number: 'two' is no number"])


def test_the_budget_holds_for_all_threads_together() -> None:
    talk, _ = conversation("a", "b", "c", budget=MethodBudget(calls=2))
    Thread(talk).ask("first")
    Thread(talk).ask("second")
    with pytest.raises(OutOfBudget) as raised:
        Thread(talk).ask("third")
    assert (raised.value.what, talk.calls, talk.left, talk.path[-1]) == ("calls", 2, 0, "out-of-budget")


def test_time_is_a_budget() -> None:
    ticks = count(step=10)
    talk = Conversation(Scripted(["a", "b"]), MethodBudget(seconds=15), clock=lambda: float(next(ticks)))
    Thread(talk).ask("first")
    with pytest.raises(OutOfBudget) as raised:
        Thread(talk).ask("second")
    assert raised.value.what == "seconds"


def test_of_a_long_thread_the_oldest_messages_but_for_the_opening_are_emptied() -> None:
    talk, model = conversation("long " * 100, "also " * 100, "short")
    thread = Thread(talk, [system("be brief")], tokens=200)
    for text in ("the task", "go on", "and on"):
        thread.ask(text)
    assert [message.text.strip() for message in model.asked[2].messages] == [
        *("be brief", "the task", LEFT_OUT, "go on", ("also " * 100).strip(), "and on")
    ]
    assert [reason.partition(":")[0] for reason in talk.reasons] == ["prompt-trimmed"]


def test_a_reply_that_was_cut_is_noted() -> None:
    talk, _ = conversation(Reply(text="half", finish_reason=Finish.LENGTH))
    Thread(talk).ask("go on")
    assert talk.path == ["asked", "cut"]
