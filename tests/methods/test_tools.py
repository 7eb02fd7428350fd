"""A tool's answer is shown again exactly where the conversation has lost it."""

from __future__ import annotations

from tasks.adapters.llm.base import ModelQuestion, ToolCall, user
from tasks.methods.conversation import LEFT_OUT, Conversation, Thread
from tasks.methods.method import MethodBudget
from tasks.methods.tools import ModelTool, SubmitTool, Toolbox, tool_spec, work_until_submitted
from tasks.rehearsal.scripted_model import Scripted, calling

VIEW = tool_spec("view_file", "Shows a file.", ["path"], path="From the root.")
SUBMIT = SubmitTool(tool_spec("submit", "Ends the work.", ["report"], report="The report."), lambda report: str(report))
AGAIN = "You have seen this already"


def viewing(path: str) -> str:
    """A file of 300 tokens."""
    return f"{path} begins\n" + "some text " * 150


def results(question: ModelQuestion) -> list[str]:
    """What the tools answered, as the model is shown it."""
    return [message.text for message in question.messages if message.tool_call_id]


def work(*paths: str, tokens: int | None) -> tuple[Scripted, Conversation]:
    """A sub-agent that views files in this order and submits."""
    views = [calling("view_file", call_id=f"call_{n}", path=path) for n, path in enumerate(paths)]
    model = Scripted([*views, calling("submit", report="done")])
    conversation = Conversation(model, MethodBudget(calls=40))
    thread = Thread(conversation, [user("Look around.")], tokens=tokens)
    tools = {"view_file": ModelTool(VIEW, viewing)}
    assert work_until_submitted(thread, tools, SUBMIT, reminder="Call a tool.") == "done"
    return model, conversation


def test_a_file_that_was_trimmed_is_shown_again() -> None:
    model, conversation = work("a.py", "b.py", "c.py", "a.py", tokens=800)
    assert results(model.asked[3])[0] == LEFT_OUT, "the prompt has room for two files"
    assert results(model.asked[-1])[-1] == viewing("a.py")
    assert "repeated" not in conversation.path


def test_a_file_that_is_still_there_is_not_shown_again() -> None:
    for tokens in (None, 800):
        model, conversation = work("a.py", "b.py", "b.py", tokens=tokens)
        assert results(model.asked[-1])[-1].startswith(AGAIN)
        assert conversation.path.count("repeated") == 1


def test_the_same_call_twice_in_one_reply_is_answered_once() -> None:
    thread = Thread(Conversation(Scripted([]), MethodBudget()))
    box = Toolbox(thread, {"view_file": ModelTool(VIEW, viewing)})
    calls = [ToolCall(call_id=f"{n}", name="view_file", arguments='{"path": "a.py"}') for n in range(2)]
    first, second = box.answer(calls)
    assert (first.text, second.text.startswith(AGAIN)) == (viewing("a.py"), True)
    (again,) = box.answer(calls[:1])
    assert again.text == viewing("a.py"), "the first answer never came into the thread"
