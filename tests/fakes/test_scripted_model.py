"""The scripted model."""

from __future__ import annotations

import pytest

from tasks.adapters.llm.base import Model, ModelQuestion, Options, Reply, Usage, system, tool_result, user
from tasks.adapters.llm.errors import ContextTooLong, ScriptExhausted
from tests.fakes.scripted_model import Scripted, calling


def test_a_list_is_said_in_order_and_ends_loudly() -> None:
    model = Scripted(["one", calling("bash", command="ls"), ContextTooLong("too long")])
    assert model.complete(ModelQuestion(messages=(user("a"),))).text == "one"
    reply = model.complete(ModelQuestion(messages=(system("s"), user("b")), options=Options(temperature=0.7), sample=2))
    assert reply.tool_calls[0].parsed() == {"command": "ls"}
    assert (model.asked[1].last, model.asked[1].sample, model.asked[1].options.temperature) == ("b", 2, 0.7)
    assert not model.finished()
    with pytest.raises(ContextTooLong):
        model.complete(ModelQuestion(messages=(user("c"),)))
    assert model.finished()
    with pytest.raises(ScriptExhausted, match="asked 4 times and its script has 3 replies"):
        model.complete(ModelQuestion(messages=(user("d"),)))


def test_a_function_is_asked_and_usage_is_counted() -> None:
    model: Model = Scripted(lambda call: f"{call.last}!", name="mine")
    reply = model.complete(ModelQuestion(messages=(user("four" * 10),)))
    assert (reply.text, reply.usage, model.name) == (
        "four" * 10 + "!",
        Usage(prompt=10, completion=10, cached=0),
        "mine",
    )
    told = Reply(text="", usage=Usage(prompt=7))
    assert Scripted([told]).complete(ModelQuestion(messages=(user("x"),))) is told


def test_sums_of_usage_do_not_invent_what_is_unknown() -> None:
    assert Usage(prompt=1, completion=2) + Usage(prompt=3) == Usage(prompt=4)


def test_broken_arguments_are_null_and_answers_name_their_call() -> None:
    call = calling("bash").tool_calls[0]
    assert tool_result(call, "out").tool_call_id == call.call_id
    for text, parsed in (("{", None), ("[1]", None), ("", {}), ('{"a": 1}', {"a": 1})):
        assert (
            Reply(text="", tool_calls=(type(call)(call_id="1", name="n", arguments=text),)).tool_calls[0].parsed()
            == parsed
        )
