"""The messages dialect (Anthropic's `/v1/messages`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tasks.adapters.llm.base import Finish, Message, Role, ToolCall, ToolSpec, Usage
from tasks.adapters.llm.dialects.spoken import NotUnderstood, Spoken, SpokenAnswer, fields, items, picked, text_of

STOPS = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.TOOL_CALLS: "tool_use",
    Finish.CONTENT_FILTER: "refusal",
    Finish.UNKNOWN: "end_turn",
}
SILENT = ("thinking", "redacted_thinking")
"""Blocks that say nothing which the chat dialect could carry."""

EFFORTS = ((4096, "low"), (16384, "medium"))
"""Tokens of thinking below which an effort is meant."""


def spoken(body: Mapping[str, Any]) -> Spoken:
    """What a caller said; `NotUnderstood` where it cannot be passed on.

    The provider's own tools (web search and the like) are left out: nothing here may reach the network.
    """
    tools = [fields(tool, "a tool") for tool in items(body.get("tools") or [], "tools")]
    told = text_of(body.get("system"), "system")
    messages = [Message(role=Role.SYSTEM, text=told)] if told else []
    for message in items(body.get("messages"), "messages"):
        messages += _heard(fields(message, "a message"))
    return Spoken(
        model=str(body.get("model", "")),
        messages=tuple(messages),
        tools=tuple(_tool(tool) for tool in tools if tool.get("type", "custom") == "custom"),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_tokens"),
        options=_options(body),
        stream=bool(body.get("stream")),
    )


def rendered(answer: SpokenAnswer) -> dict[str, Any]:
    """The answer as one body."""
    ended = {"stop_reason": STOPS[answer.reply.finish_reason], "stop_sequence": None}
    return _head(answer) | {"content": _blocks(answer), "usage": _usage(answer.reply.usage)} | ended


def events(answer: SpokenAnswer) -> Iterator[str]:
    """The answer as server-sent events."""
    usage = _usage(answer.reply.usage)
    begun = _head(answer) | {"content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", message=begun | {"usage": usage | {"output_tokens": 1}})
    for index, block in enumerate(_blocks(answer)):
        empty: dict[str, Any] = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield _event("content_block_start", index=index, content_block=block | empty)
        yield _event("content_block_delta", index=index, delta=_delta(block))
        yield _event("content_block_stop", index=index)
    ended = {"stop_reason": STOPS[answer.reply.finish_reason], "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage=usage)
    yield _event("message_stop")


def error_body(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def tokens_of(call: Spoken) -> int:
    """About how many tokens a call has, for callers that ask first: four characters are taken for one."""
    letters = sum(
        len(message.text) + sum(len(one.arguments) for one in message.tool_calls) for message in call.messages
    )
    letters += sum(len(tool.description) + len(json.dumps(dict(tool.parameters))) for tool in call.tools)
    return letters // 4 + 1


def _heard(message: Mapping[str, Any]) -> list[Message]:
    """A message of theirs is one or several of ours: each tool result is a message, text of the user follows."""
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise NotUnderstood(f"a message has the role {role}")
    if isinstance(content, str):
        return [Message(role=Role(role), text=content)]
    blocks = [fields(block, "a block") for block in items(content, "the content")]
    results = [_result(block) for block in blocks if block.get("type") == "tool_result"]
    calls = tuple(_called(block) for block in blocks if block.get("type") == "tool_use")
    rest = [block for block in blocks if block.get("type") not in ("tool_result", "tool_use", *SILENT)]
    text = text_of(rest, f"a {role} message")
    if text or calls or not results:
        results.append(Message(role=Role(role), text=text, tool_calls=calls))
    return results


def _result(block: Mapping[str, Any]) -> Message:
    text = text_of(block.get("content"), "a tool's result")
    if block.get("is_error"):
        text = f"Error: {text}"
    return Message(role=Role.TOOL, text=text, tool_call_id=str(block.get("tool_use_id", "")))


def _called(block: Mapping[str, Any]) -> ToolCall:
    arguments = json.dumps(block.get("input") or {})
    return ToolCall(call_id=str(block.get("id", "")), name=str(block.get("name", "")), arguments=arguments)


def _tool(tool: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description") or ""),
        parameters=tool.get("input_schema") or {"type": "object", "properties": {}},
    )


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Further parameters in the words of the chat dialect."""
    options = picked(body, ("top_p",))
    if stops := body.get("stop_sequences"):
        options["stop"] = stops
    choice = body.get("tool_choice") or {}
    if choice.get("type") == "tool":
        options["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
    elif choice.get("type") in ("any", "none"):
        options["tool_choice"] = {"any": "required", "none": "none"}[choice["type"]]
    if choice.get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens") or 0
        options["reasoning_effort"] = next((name for below, name in EFFORTS if budget < below), "high")
    return options


def _blocks(answer: SpokenAnswer) -> list[dict[str, Any]]:
    reply = answer.reply
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text or not reply.tool_calls else []
    for call in reply.tool_calls:
        # Their dialect has no broken JSON: what the model wrote becomes one argument that no tool knows.
        given = call.parsed()
        block = {"type": "tool_use", "id": call.call_id, "name": call.name}
        blocks.append(block | {"input": {"_broken": call.arguments} if given is None else dict(given)})
    return blocks


def _delta(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "text_delta", "text": block["text"]}
    return {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def _usage(usage: Usage) -> dict[str, Any]:
    """Their dialect has no unknown counts: 0 stands for them here, and only here."""
    cached = usage.cached or 0
    return {
        "input_tokens": max(0, (usage.prompt or 0) - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.completion or 0,
    }


def _head(answer: SpokenAnswer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.answer_id}",
        "type": "message",
        "role": "assistant",
        "model": answer.spoken.model,
    }


def _event(kind: str, **more: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | more)}\n\n"
