"""Replies that no author wrote: drafts, half characters, loops of megabytes. None ends a sweep or holds it up.

Each text of megabytes would take hours where time grows with its square; the whole file takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tasks.adapters.llm.base import Reply, ToolCall, user
from tasks.domain.trajectory import TrajectoryStep
from tasks.methods.conversation import Conversation
from tasks.methods.edits.read_edits import read_edits
from tasks.methods.edits.replace import read_replacements
from tasks.methods.method import MethodBudget
from tasks.methods.replies.diffs import diffs_in
from tasks.methods.replies.fences import fenced_blocks
from tasks.methods.replies.json_replies import json_objects
from tasks.methods.replies.visible import MAX_CHARS, presentable, without_thoughts
from tasks.methods.trajectory_audit import RULES, Secrets
from tasks.rehearsal.scripted_model import Scripted

READERS: tuple[Callable[[str], object], ...] = (
    fenced_blocks,
    diffs_in,
    read_edits,
    read_replacements,
    without_thoughts,
    lambda text: list(json_objects(text)),
)
LOOPS = (
    *("```python\n", "~~~~ x\n", "   ```\n", "<patch>", "<diff></patch>", "<file>a</file><original>b", "<think>"),
    *("</think>", "edit a.py\n", "diff\n", "diff --git a/x b/x\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "{", '{"a": '),
    *(" ", "\t\n", "\u2028", "`", "insert in a at ", "Binary files a and b differ\n", "x"),
)
COMMANDS = (
    *("git -a ", "git log ", "git\n", "pip install ", "curl http://", "find / ", "grep -r a ", "ls -a ", "a.a"),
    *("['git', ", "github.com/o/n", "site-packages/", "0123456789", "http://127.0.0.1 "),
)
SECRETS = Secrets(owner_and_name="o/n", commits=("0" * 40,), packages=("n",), fixed_lines=frozenset("x"), known="")


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_no_reader_takes_more_than_linear_time(read: Callable[[str], object]) -> None:
    for loop in LOOPS:
        read(loop * (MAX_CHARS // len(loop)))


def test_no_audit_takes_more_than_linear_time() -> None:
    for loop in COMMANDS:
        text = loop * (MAX_CHARS // len(loop))
        for role in ("command", "thought", "output", "prompt"):
            step = TrajectoryStep(role=role, text=text)
            for _, rule in RULES:
                for _ in rule(step, SECRETS):
                    break


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>draft ```diff```</think>\nanswer", "answer"),
        ("\n <THINKING>draft</THINKING> answer", "answer"),
        ("draft without its first tag</think>answer", "answer"),
        ("<think>and never an end", ""),
        ("<think>one</think>answer about <think> tags", "answer about <think> tags"),
        ("The tag <think> is not closed here.", "The tag <think> is not closed here."),
        ("answer", "answer"),
        ("", ""),
    ],
)
def test_thoughts_are_no_answer(text: str, said: str) -> None:
    assert without_thoughts(text) == said


def test_what_cannot_be_written_down_is_replaced() -> None:
    call = ToolCall(call_id="\ud800", name="ba\x00sh", arguments='{"a": "\udfff"}')
    shown = presentable(Reply(text="a\ud800b\x00c", tool_calls=(call,), raw="raw"))
    assert (shown.text, shown.raw) == ("a\ufffdb\ufffdc", "raw")
    assert (shown.tool_calls[0].name, shown.tool_calls[0].arguments) == ("ba\ufffdsh", '{"a": "\ufffd"}')
    assert len(presentable(Reply(text="x" * (MAX_CHARS + 9))).text) == MAX_CHARS


def test_a_conversation_sees_the_answer_alone() -> None:
    talk = Conversation(Scripted(["<think>no \ud800</think>yes"]), MethodBudget())
    assert talk.ask([user("Well?")]).text == "yes"
