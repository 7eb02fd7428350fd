"""What a method gets to see of a model's reply: text that every later step can hold, without the model's drafts.

Providers hand on whatever a model emits. Half a surrogate pair cannot be encoded and a NUL cannot be an argument of a
process, so both become U+FFFD. Servers of open models leave the thinking in the text, between tags; a draft in there
is no answer. What is beyond `MAX_CHARS` is a loop. The archive keeps the reply as it came.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tasks.adapters.llm.base import Reply

MAX_CHARS = 1_000_000
"""Of a reply's text, and of a tool call's arguments: three times what the longest output limit of a model comes to."""
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")
_THOUGHT = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def presentable(reply: Reply) -> Reply:
    """The reply as methods see it."""
    calls = tuple(
        replace(call, call_id=_clean(call.call_id), name=_clean(call.name), arguments=_clean(call.arguments))
        for call in reply.tool_calls
    )
    return replace(reply, text=without_thoughts(_clean(reply.text)), tool_calls=calls)


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


def _clean(text: str) -> str:
    return _UNSPEAKABLE.sub("\ufffd", text[:MAX_CHARS])
