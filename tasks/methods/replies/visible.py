"""What a method gets to see of a model's reply: text that every later step can hold, without the model's drafts.

Providers hand on whatever a model emits. Half a surrogate pair cannot be encoded and a NUL cannot be an argument of a
process, so both become U+FFFD. Servers of open models leave the thinking in the text, between tags; a draft in there
is no answer. What is beyond `MAX_CHARS` is a loop. The archive keeps the reply as it came.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.transport.reasoning import without_thoughts

MAX_CHARS = 1_000_000
"""Of a reply's text, and of a tool call's arguments: three times what the longest output limit of a model comes to."""
_UNSPEAKABLE = re.compile("[\x00\ud800-\udfff]")


def presentable(reply: Reply) -> Reply:
    """The reply as methods see it."""
    calls = tuple(
        replace(call, call_id=_clean(call.call_id), name=_clean(call.name), arguments=_clean(call.arguments))
        for call in reply.tool_calls
    )
    return replace(reply, text=without_thoughts(_clean(reply.text)), tool_calls=calls)


def _clean(text: str) -> str:
    return _UNSPEAKABLE.sub("\ufffd", text[:MAX_CHARS])
