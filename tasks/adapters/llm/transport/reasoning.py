"""What a model thinks before it answers: told apart from the answer, which it may leave no room for."""

from __future__ import annotations

import re

from tasks.adapters.llm.base import Finish, Reply

_THOUGHT = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def unanswered(reply: Reply) -> bool:
    """Whether the limit on the reply ended it before anything was said."""
    cut = reply.finish_reason is Finish.LENGTH and not reply.tool_calls
    return cut and not without_thoughts(reply.text).strip()


def without_thoughts(text: str) -> str:
    """The text after the thinking that it opens with; empty where that never ends.

    A closing tag alone counts as well: some servers take the opening one for part of the prompt. A tag further down,
    after something was said, is text.
    """
    first = _THOUGHT.search(text)
    if first is None:
        return text
    if not first[0].startswith("</"):
        if text[: first.start()].strip():
            return text
        closing = next((tag for tag in _THOUGHT.finditer(text, first.end()) if tag[0].startswith("</")), None)
        return text[closing.end() :].lstrip() if closing else ""
    return text[first.end() :].lstrip()
