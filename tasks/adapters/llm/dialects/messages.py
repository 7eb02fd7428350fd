"""The messages dialect (Anthropic's `/v1/messages`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tasks.adapters.llm.base import Finish, Message, Options, Reply, Role, ToolCall, ToolSpec, Usage
from tasks.adapters.llm.dialects.spoken import (
    ClientRequest,
    NotAReply,
    NotUnderstood,
    SpokenAnswer,
    count,
    fields,
    items,
    picked,
    text_of,
)
from tasks.adapters.llm.records.request import ModelRequest

STOPS = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.TOOL_CALLS: "tool_use",
    Finish.CONTENT_FILTER: "refusal",
    Finish.UNKNOWN: "end_turn",
}
ENDS = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.CONTENT_FILTER,
}
NATIVE = (
    "cache_control",
    "context_management",
    "messages",
    "output_config",
    "stop_sequences",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
)
"""Parameters of a caller's body that are passed on to a provider of this dialect."""

LEAST_THINKING = 1024
"""Smallest thinking budget in tokens that the provider accepts."""
SILENT_TEXT = "(empty)"
"""Replacement for blank text, which the provider rejects."""
CACHED = {"cache_control": {"type": "ephemeral"}}
SILENT = ("thinking", "redacted_thinking")
"""Blocks without content that the chat dialect could carry."""

EFFORTS = ((4096, "low"), (16384, "medium"))
"""Thinking budgets below this many tokens map to this effort."""


def request_body(request: ModelRequest, *, limit_name: str = "max_tokens") -> dict[str, Any]:
    """Return the body for a provider.

    If a conversation will continue (it has tools or replies), its start and end are marked for the provider's cache.
    The next call then reads them for a tenth of the price, after a write for a quarter more.
    """
    del limit_name  # the limit has one name in this dialect
    body: dict[str, Any]
    if request.body:
        body = json.loads(request.body) | {"model": request.model_id, "max_tokens": request.max_tokens}
    else:
        body = {
            "model": request.model_id,
            "max_tokens": request.max_tokens,
            **_told(request),
            **_sent_options(json.loads(request.options)),
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
    return body | _thinking(body.get("thinking"), body["max_tokens"])


def kept(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a caller's parameters without tools that the provider runs itself, since these could reach the network."""
    tools = [tool for tool in body.get("tools") or [] if tool.get("type", "custom") == "custom"]
    rest = {name: value for name, value in body.items() if name != "tools"}
    return rest | ({"tools": tools} if tools else {})


def option_fields(options: Options) -> dict[str, Any]:
    """Return options in the names of this dialect, without the limit; unset options are left out."""
    named: dict[str, Any] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "stop_sequences": list(options.stop) or None,
        "output_config": {"effort": options.reasoning_effort} if options.reasoning_effort else None,
        "thinking": _budget(options.reasoning_tokens) if options.reasoning_tokens else None,
    }
    return {name: value for name, value in named.items() if value is not None}


def reply_of(body: object, *, raw: str, seconds: float) -> Reply:
    """Return the reply in a provider's response. Raises `NotAReply` for an invalid one."""
    try:
        blocks = list(body["content"])  # type: ignore[index]
        texts = [str(block["text"] or "") for block in blocks if block["type"] == "text"]
        calls = tuple(_called(block) for block in blocks if block["type"] == "tool_use")
        finish = ENDS.get(body["stop_reason"], Finish.UNKNOWN)  # type: ignore[index]
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAReply(f"{type(error).__name__} {error}") from None
    opaque = any(block["type"] in SILENT for block in blocks)
    return Reply(
        text="".join(texts),
        tool_calls=calls,
        usage=_counted(body.get("usage")),  # type: ignore[attr-defined]
        seconds=seconds,
        raw=raw,
        native=json.dumps({"messages": blocks}) if opaque else "",
        finish_reason=finish,
    )


def spoken(body: Mapping[str, Any]) -> ClientRequest:
    """Parse a caller's body. Raises `NotUnderstood` if it cannot be passed on.

    Leaves out the provider's own tools (such as web search), since these could reach the network.
    """
    tools = [fields(tool, "a tool") for tool in items(body.get("tools") or [], "tools")]
    told = text_of(body.get("system"), "system")
    messages = [Message(role=Role.SYSTEM, text=told)] if told else []
    for message in items(body.get("messages"), "messages"):
        messages += _heard(fields(message, "a message"))
    return ClientRequest(
        model=str(body.get("model", "")),
        messages=tuple(messages),
        tools=tuple(_tool(tool) for tool in tools if tool.get("type", "custom") == "custom"),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_tokens"),
        options=_options(body),
        stream=bool(body.get("stream")),
    )


def rendered(answer: SpokenAnswer) -> dict[str, Any]:
    """Return the answer as one body."""
    if answer.body is not None:
        return dict(answer.body)
    ended = {"stop_reason": STOPS[answer.reply.finish_reason], "stop_sequence": None}
    return _head(answer) | {"content": _blocks(answer), "usage": _usage(answer.reply.usage)} | ended


def events(answer: SpokenAnswer) -> Iterator[str]:
    """Return the answer as server-sent events."""
    whole = rendered(answer)
    usage = whole.get("usage") or {}
    begun = whole | {"content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", message=begun | {"usage": usage | {"output_tokens": 1}})
    for index, block in enumerate(whole["content"]):
        deltas = _deltas(block)
        later = {name: type(block[name])() for name in LATER.get(block["type"], ()) if name in block}
        yield _event("content_block_start", index=index, content_block=block | later)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {name: whole.get(name) for name in ("stop_reason", "stop_sequence")}
    yield _event("message_delta", delta=ended, usage=usage)
    yield _event("message_stop")


def error_body(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def tokens_of(call: ClientRequest) -> int:
    """Estimate the tokens of a call at four characters per token, for callers that request a count."""
    letters = sum(
        len(message.text) + sum(len(one.arguments) for one in message.tool_calls) for message in call.messages
    )
    letters += sum(len(tool.description) + len(json.dumps(dict(tool.parameters))) for tool in call.tools)
    return letters // 4 + 1


def _heard(message: Mapping[str, Any]) -> list[Message]:
    """Split a message of this dialect: one message per tool result, then one for the user's text."""
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
    """Return further parameters as in the chat dialect."""
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


def _told(request: ModelRequest) -> dict[str, Any]:
    """Return system prompt, messages and tools. Merges consecutive messages of one side."""
    system = [message.text for message in request.messages if message.role is Role.SYSTEM]
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in request.messages:
        if message.role is Role.SYSTEM:
            continue
        side = "assistant" if message.role is Role.ASSISTANT else "user"
        if not turns or turns[-1][0] != side:
            turns.append((side, []))
        turns[-1][1].extend(_sent(message))
    goes_on = bool(request.tools) or any(side == "assistant" for side, _ in turns)
    mark: dict[str, Any] = CACHED if goes_on else {}
    if turns and turns[-1][0] == "user":
        turns[-1][1][-1] |= mark
    told: dict[str, Any] = {"messages": [{"role": side, "content": blocks} for side, blocks in turns]}
    if said := "\n\n".join(text for text in system if text.strip()):
        told["system"] = [_text(said) | mark]
    if request.tools:
        told["tools"] = [_sent_tool(tool) for tool in request.tools]
    return told


def _sent(message: Message) -> list[dict[str, Any]]:
    """Return a message as blocks. Thinking is sent back unchanged, or the provider rejects the next message."""
    if message.role is Role.TOOL:
        content = [_text(message.text)]
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}]
    if message.native and (blocks := json.loads(message.native).get("messages")):
        return list(blocks)
    uses = [_use(call) for call in message.tool_calls]
    return uses if uses and not message.text.strip() else [_text(message.text), *uses]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else SILENT_TEXT}


def _use(call: ToolCall) -> dict[str, Any]:
    # This dialect cannot carry invalid JSON: the model's text becomes one argument that no tool accepts.
    given = call.parsed()
    said = {"_broken": call.arguments} if given is None else dict(given)
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": said}


def _sent_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def _sent_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Translate parameters of the chat dialect; leaves out those without an equivalent."""
    body = picked(options, ("top_p",))
    if stop := options.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    if effort := options.get("reasoning_effort"):
        body["output_config"] = {"effort": effort}
    if tokens := options.get("thinking_tokens"):
        body["thinking"] = _budget(tokens)
    choice = options.get("tool_choice")
    if isinstance(choice, dict):
        body["tool_choice"] = {"type": "tool", "name": choice["function"]["name"]}
    elif choice in ("auto", "required", "none"):
        body["tool_choice"] = {"type": {"required": "any"}.get(choice, choice)}
    if options.get("parallel_tool_calls") is False:
        body["tool_choice"] = body.get("tool_choice", {"type": "auto"}) | {"disable_parallel_tool_use": True}
    return body


def _budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": max(tokens, LEAST_THINKING)}


def _thinking(asked: Mapping[str, Any] | None, limit: int) -> dict[str, Any]:
    """Return a thinking budget below the limit on the reply, which may have been lowered."""
    budget = count(asked.get("budget_tokens")) if asked else None
    if asked is None or budget is None or budget < limit:
        return {}
    if limit <= LEAST_THINKING:
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {**asked, "budget_tokens": max(LEAST_THINKING, limit // 2)}}


def _counted(body: object) -> Usage:
    """Return the usage. This dialect's `input_tokens` excludes cached and cache-written tokens."""
    if not isinstance(body, dict):
        return Usage()
    plain, cached = count(body.get("input_tokens")), count(body.get("cache_read_input_tokens"))
    written, parts = count(body.get("cache_creation_input_tokens")), body.get("cache_creation")
    long = count(parts.get("ephemeral_1h_input_tokens")) if isinstance(parts, dict) else None
    return Usage(
        prompt=None if plain is None else plain + (cached or 0) + (written or 0),
        completion=count(body.get("output_tokens")),
        cached=cached,
        written=written,
        written_for_long=long,
    )


def _blocks(answer: SpokenAnswer) -> list[dict[str, Any]]:
    reply = answer.reply
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text or not reply.tool_calls else []
    return blocks + [_use(call) for call in reply.tool_calls]


LATER = {"text": ("text",), "tool_use": ("input",), "thinking": ("thinking", "signature")}
"""Fields of a block that a stream sends after its start; blocks of other types are sent whole."""


def _deltas(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = block["type"]
    if kind == "text":
        return [{"type": "text_delta", "text": block["text"]}]
    if kind == "tool_use":
        return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    if kind == "thinking":
        thought = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
        return [thought, {"type": "signature_delta", "signature": block.get("signature", "")}]
    return []


def _usage(usage: Usage) -> dict[str, Any]:
    """Return the usage in this dialect. It has no unknown counts: only here, 0 stands for unknown."""
    cached = usage.cached or 0
    return {
        "input_tokens": max(0, (usage.prompt or 0) - cached - (usage.written or 0)),
        "cache_creation_input_tokens": usage.written or 0,
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
