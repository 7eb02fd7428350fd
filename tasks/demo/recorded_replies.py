"""Serves recorded model replies as an OpenAI-compatible provider, so that `swt demo` needs no model and no key.

A recording is a JSON list; a reply is given whenever its `match`, a regular expression, is found in the last message:

    [
      {"match": "judge", "text": "1"},
      {"match": "list", "tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]}
    ]
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.files import regular_file
from tasks.adapters.llm.base import Finish, Reply, ToolCall, Usage
from tasks.adapters.llm.dialects import chat
from tasks.adapters.llm.dialects.messages import tokens_of
from tasks.adapters.llm.dialects.spoken import ClientRequest, SpokenAnswer
from tasks.adapters.llm.transport.http_server import application, listener, read_json, said, serving
from tasks.domain.errors import BadInput


@contextmanager
def serve_replies(path: Path) -> Iterator[str]:
    """Serves the replies of a file on a free port of the loopback. Yields the base URL of the chat dialect."""
    rows = read_rows(path)

    async def answer(request: Request) -> Response:
        call = chat.spoken(await read_json(request))
        row = matching_row(rows, call)
        if row is None:
            return said(400, chat.error_body("no_reply", f"{path.name} has no reply to this"))
        reply = with_usage(reply_of(row), call)
        return said(200, chat.rendered(SpokenAnswer(reply, call, token_hex(12), int(time.time()))))

    tcp = listener(0)
    with serving(application(answer), tcp):
        yield f"http://127.0.0.1:{tcp.getsockname()[1]}/v1"


def read_rows(path: Path) -> Sequence[Any]:
    """Returns the list in a JSON file. Raises `BadInput` where there is none."""
    try:
        rows = json.loads(regular_file(path, hint="give a JSON list of replies").read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{path.name} is not JSON: {error}") from None
    if not isinstance(rows, list):
        raise BadInput(f"{path.name} is not a list", hint="give a JSON list of replies")
    return rows


def matching_row(rows: Sequence[Mapping[str, Any]], call: ClientRequest) -> Mapping[str, Any] | None:
    """Returns the first row whose `match` is found in the last message; None if there is none."""
    last = call.messages[-1].text if call.messages else ""
    return next((row for row in rows if re.search(row["match"], last)), None)


def reply_of(row: Mapping[str, Any]) -> Reply:
    """Returns the reply of one row: `text`, `tool_calls`, `finish`, `usage`, each optional."""
    calls = tuple(_call(call, number) for number, call in enumerate(row.get("tool_calls", []), 1))
    finish = row.get("finish", "tool_calls" if calls else "stop")
    usage = Usage(**row.get("usage", {}))
    return Reply(text=str(row.get("text", "")), tool_calls=calls, usage=usage, finish_reason=Finish(finish))


def with_usage(reply: Reply, call: ClientRequest) -> Reply:
    """Returns the reply with token counts: its own, else one token for four characters."""
    usage = reply.usage
    if usage.prompt is None or usage.completion is None:
        made = len(reply.text) + sum(len(one.arguments) for one in reply.tool_calls)
        usage = Usage(prompt=tokens_of(call), completion=made // 4 + 1, cached=0)
    return Reply(text=reply.text, tool_calls=reply.tool_calls, usage=usage, finish_reason=reply.finish_reason)


def _call(call: Mapping[str, Any], number: int) -> ToolCall:
    given = call.get("arguments", {})
    text = given if isinstance(given, str) else json.dumps(given)
    return ToolCall(call_id=str(call.get("id", f"call_{number}")), name=str(call["name"]), arguments=text)
