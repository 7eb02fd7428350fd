"""What the scripted provider says: a JSON file of steps, or a function.

    [
      {"text": "hello"},
      {"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]},
      {"fault": "rate-limit", "retry_after": 2},
      {"match": "judge", "text": "1"}
    ]

Steps without `match` are said once each, in order. A step with `match` (a regular expression that is searched in the
last message) is said whenever it fits, before any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any

from tasks.adapters.files import regular_file
from tasks.adapters.llm.base import Finish, Reply, ToolCall, Usage
from tasks.adapters.llm.dialects.messages import tokens_of
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.domain.errors import BadInput


class Fault(StrEnum):
    """What goes wrong with a step: docs/models.md says of each what the provider does and what becomes of the call."""

    NONE = "none"
    BUSY_FOR_HOURS = "busy-for-hours"
    REQUEST_TIMEOUT = "request-timeout"
    CONFLICT = "conflict"
    TOO_EARLY = "too-early"
    BAD_GATEWAY = "bad-gateway"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway-timeout"
    HTML_ERROR = "html-error"
    ERROR_IN_200 = "error-in-200"
    BUSY_IN_200 = "busy-in-200"
    NO_MODEL = "no-model"
    BAD_PARAMETER = "bad-parameter"
    UNPROCESSABLE = "unprocessable"
    TOO_LARGE = "too-large"
    TOO_MANY_TOKENS = "too-many-tokens"
    POLICY = "policy"
    FILTERED = "filtered"
    BILLING_OFF = "billing-off"
    HARD_LIMIT = "hard-limit"
    EXPIRED_KEY = "expired-key"
    EMPTY_BODY = "empty-body"
    NULL = "null"
    NO_REPLY = "no-reply"
    ODD_USAGE = "odd-usage"
    SILENT = "silent"
    ALL_THOUGHT = "all-thought"
    HALF_CHARACTER = "half-character"
    STALLED = "stalled"
    RATE_LIMIT = "rate-limit"
    SERVER = "server"
    OVERLOADED = "overloaded"
    AUTH = "auth"
    CONTEXT = "context"
    FILTER = "filter"
    EXHAUSTED = "exhausted"
    NO_QUOTA = "no-quota"
    NO_CREDIT = "no-credit"
    LOW_BALANCE = "low-balance"
    FORBIDDEN = "forbidden"
    MODERATED = "moderated"
    HANG_UP = "hang-up"
    CUT = "cut"
    GARBAGE = "garbage"
    HTML = "html"
    WRONG_TYPE = "wrong-type"
    NO_USAGE = "no-usage"
    UNENDED = "unended"
    ONLY_PINGS = "only-pings"
    ERROR_FIRST = "error-first"
    ERROR_MIDWAY = "error-midway"
    HALF_EVENT = "half-event"
    ECHO = "echo"
    """400, with the caller's own words in its text."""


STREAMED = (Fault.UNENDED, Fault.ONLY_PINGS, Fault.ERROR_FIRST, Fault.ERROR_MIDWAY, Fault.HALF_EVENT)
"""What only a stream can have. To who asks for none, these steps are well."""
ACCOUNT = (
    *(Fault.AUTH, Fault.NO_QUOTA, Fault.NO_CREDIT, Fault.FORBIDDEN),
    *(Fault.BILLING_OFF, Fault.HARD_LIMIT),
)
"""What a dead key or an empty account gets, whatever it asks, as a status or a code says."""
ACCOUNT_BY_TEXT = (Fault.LOW_BALANCE, Fault.EXPIRED_KEY)
"""The same as only a text says, which an echo could say as well."""
SAID_INSTEAD: Mapping[Fault, Reply] = {
    Fault.FILTERED: Reply(text="", finish_reason=Finish.CONTENT_FILTER),
    Fault.SILENT: Reply(text=""),
    Fault.ALL_THOUGHT: Reply(text="", finish_reason=Finish.LENGTH),
    Fault.HALF_CHARACTER: Reply(text="a\ud800b\x00"),
}
"""Whole replies that are no use, or nearly none."""
LASTING = (Fault.CONTEXT, Fault.FILTER, Fault.MODERATED, Fault.EXHAUSTED)
"""What one call gets however often it is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer."""

    reply: Reply = field(default_factory=lambda: Reply(text=""))
    fault: Fault = Fault.NONE
    retry_after_s: float | None = None
    wait_s: float = 0.0
    """Seconds before the answer begins."""
    match: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Parts of the answer in the caller's own dialect, in place of what the reply makes of them."""


Script = Callable[[ClientRequest], Step]


class ListScript:
    """The steps of a list. Thread-safe. At its end it says `exhausted`, which no client tries again."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._matching = [step for step in steps if step.match]
        self._rest = [step for step in steps if not step.match]
        self._next = 0
        self._lock = Lock()

    def __call__(self, call: ClientRequest) -> Step:
        last = call.messages[-1].text if call.messages else ""
        for step in self._matching:
            if re.search(step.match, last):
                return step
        with self._lock:
            self._next += 1
            return self._rest[self._next - 1] if self._next <= len(self._rest) else Step(fault=Fault.EXHAUSTED)


def read_script(path: Path) -> ListScript:
    """The script in a file; `BadInput` names the step that is wrong."""
    try:
        rows = json.loads(regular_file(path, hint="give a JSON list of steps").read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{path.name} is not JSON: {error}") from None
    if not isinstance(rows, list):
        raise BadInput(f"{path.name} is not a list", hint="give a JSON list of steps")
    return ListScript(tuple(step_of(row, f"{path.name}: step {number}") for number, row in enumerate(rows, 1)))


def step_of(row: object, where: str) -> Step:
    """One step of a file."""
    if not isinstance(row, dict):
        raise BadInput(f"{where} is not an object")
    try:
        return Step(
            reply=_reply(row),
            fault=Fault(row.get("fault", "none")),
            retry_after_s=row.get("retry_after"),
            wait_s=float(row.get("wait", 0.0)),
            match=str(row.get("match", "")),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(f"{where}: {error}", hint="see tasks/rehearsal/scripted_provider/script.py") from None


def priced(reply: Reply, call: ClientRequest) -> Reply:
    """The reply with token counts: those of the script, else four characters are a token."""
    usage = reply.usage
    if usage.prompt is None or usage.completion is None:
        made = len(reply.text) + sum(len(one.arguments) for one in reply.tool_calls)
        usage = Usage(prompt=tokens_of(call), completion=made // 4 + 1, cached=0)
    return Reply(text=reply.text, tool_calls=reply.tool_calls, usage=usage, finish_reason=reply.finish_reason)


def _reply(row: Mapping[str, Any]) -> Reply:
    calls = tuple(_call(call, number) for number, call in enumerate(row.get("tool_calls", []), 1))
    finish = row.get("finish", "tool_calls" if calls else "stop")
    usage = Usage(**row.get("usage", {}))
    return Reply(text=str(row.get("text", "")), tool_calls=calls, usage=usage, finish_reason=Finish(finish))


def _call(call: Mapping[str, Any], number: int) -> ToolCall:
    given = call.get("arguments", {})
    text = given if isinstance(given, str) else json.dumps(given)
    return ToolCall(call_id=str(call.get("id", f"call_{number}")), name=str(call["name"]), arguments=text)
