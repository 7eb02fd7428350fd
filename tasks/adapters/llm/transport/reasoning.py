"""Separates a model's reasoning from its answer, for which the reasoning may leave no tokens."""

from __future__ import annotations

import re

from tasks.adapters.llm.base import Finish, Reply

_THOUGHT = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def unanswered(reply: Reply) -> bool:
    """Whether the limit on the reply cut it before any visible text."""
    cut = reply.finish_reason is Finish.LENGTH and not reply.tool_calls
    return cut and not without_thoughts(reply.text).strip()


def without_thoughts(text: str) -> str:
    """Return the text after the leading reasoning; empty if the reasoning never ends.

    A closing tag without an opening one also counts: some servers treat the opening tag as part of the prompt. A tag
    after visible text is text.
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
