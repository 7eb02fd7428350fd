"""The chat dialect (OpenAI's `/v1/chat/completions`), used by most providers and agents."""

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

PASSED_ON = (
    "frequency_penalty",
    "logit_bias",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "stop",
    "tool_choice",
    "top_p",
    "verbosity",
)
"""Parameters that affect a reply and are passed on unchanged."""

NATIVE = (
    *PASSED_ON,
    "cache_control",
    "messages",
    "min_p",
    "prompt_cache_key",
    "reasoning",
    "seed",
    "temperature",
    "thinking",
    "tools",
    "top_k",
)
"""Parameters of a caller's body that are passed on to a provider of this dialect."""

OPAQUE = ("reasoning_details", "thinking_blocks")
"""Fields of a model's message that OpenRouter and litellm expect back: providers reject a conversation without them.
`reasoning_content` must not be sent back (https://api-docs.deepseek.com/guides/reasoning_model)."""
ROLES = {"developer": Role.SYSTEM} | {str(role): role for role in Role}
FINISHES = {str(finish): finish for finish in Finish} | {"function_call": Finish.TOOL_CALLS}


def request_body(request: ModelRequest, *, limit_name: str = "max_tokens") -> dict[str, Any]:
    """Return the body for a provider."""
    if request.body:
        limit = {} if request.max_tokens is None else {limit_name: request.max_tokens}
        native: dict[str, Any] = json.loads(request.body)
        return native | {"model": request.model_id} | limit
    body: dict[str, Any] = {
        "model": request.model_id,
        "messages": [_sent(message) for message in request.messages],
        "temperature": request.temperature,
        "seed": request.seed,
        limit_name: request.max_tokens,
    }
    if request.tools:
        body["tools"] = [_sent_tool(tool) for tool in request.tools]
    given = {name: value for name, value in body.items() if value is not None}
    return given | dict(json.loads(request.options))


def kept(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the caller's parameters that may be passed on: all, in this dialect (`spoken` rejects other tools)."""
    return body


def option_fields(options: Options) -> dict[str, Any]:
    """Return options in the names of this dialect, without the limit; unset options are left out."""
    named = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(options.stop) or None,
        "reasoning_effort": options.reasoning_effort,
        "verbosity": options.verbosity,
    }
    return {name: value for name, value in named.items() if value is not None}


def reply_of(body: object, *, raw: str, seconds: float) -> Reply:
    """Return the reply in a provider's response. Raises `NotAReply` for an invalid one."""
    try:
        choice = body["choices"][0]  # type: ignore[index]
        message = choice["message"]
        calls = tuple(_call(call) for call in message.get("tool_calls") or ())
        text = message.get("content") or ""
        finish = FINISHES.get(choice.get("finish_reason") or "stop", Finish.UNKNOWN)
        if not isinstance(text, str):
            text = text_of(text, "the content")
    except (KeyError, IndexError, TypeError, AttributeError, NotUnderstood) as error:
        raise NotAReply(f"{type(error).__name__} {error}") from None
    return Reply(
        text=text,
        tool_calls=calls,
        usage=_usage(body.get("usage")),  # type: ignore[attr-defined]
        seconds=seconds,
        raw=raw,
        native=json.dumps({"chat": opaque}) if (opaque := picked(message, OPAQUE)) else "",
        finish_reason=finish,
    )


def spoken(body: Mapping[str, Any]) -> ClientRequest:
    """Parse a caller's body. Raises `NotUnderstood` if it cannot be passed on."""
    if (body.get("n") or 1) != 1:
        raise NotUnderstood("n is not 1", hint="ask several times")
    return ClientRequest(
        model=str(body.get("model", "")),
        messages=tuple(_heard(fields(one, "a message")) for one in items(body.get("messages"), "messages")),
        tools=tuple(_heard_tool(fields(one, "a tool")) for one in items(body.get("tools") or [], "tools")),
        temperature=body.get("temperature"),
        seed=body.get("seed"),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        options=picked(body, PASSED_ON),
        stream=bool(body.get("stream")),
        with_usage=bool((body.get("stream_options") or {}).get("include_usage")),
    )


def rendered(answer: SpokenAnswer) -> dict[str, Any]:
    """Return the answer as one body."""
    if answer.body is not None:
        return dict(answer.body)
    reply = answer.reply
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.tool_calls:
        message["tool_calls"] = [_sent_call(call) for call in reply.tool_calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return _head(answer, "chat.completion") | {"choices": [choice], "usage": usage_body(reply.usage)}


def events(answer: SpokenAnswer) -> Iterator[str]:
    """Return the answer as server-sent events."""
    head, reply = _head(answer, "chat.completion.chunk"), answer.reply
    silent = bool(reply.tool_calls) and not reply.text  # null, as in OpenAI's own streams
    yield _chunk(head, {"role": "assistant", "content": None if silent else ""} | _unread(answer))
    if reply.text:
        yield _chunk(head, {"content": reply.text})
    for index, call in enumerate(reply.tool_calls):
        yield _chunk(head, {"tool_calls": [{"index": index} | _sent_call(call)]})
    yield _chunk(head, {}, finish=_finish(reply))
    if answer.spoken.with_usage:
        yield f"data: {json.dumps(head | {'choices': [], 'usage': usage_body(reply.usage)})}\n\n"
    yield "data: [DONE]\n\n"


def error_body(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def usage_body(usage: Usage) -> dict[str, Any] | None:
    """Return the usage in this dialect; None if the provider did not report it."""
    if usage.prompt is None or usage.completion is None:
        return None
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached or 0},
    }


def _unread(answer: SpokenAnswer) -> dict[str, Any]:
    """Return parts of the provider's message that only the caller can read (such as `reasoning_content`)."""
    if answer.body is None:
        return {}
    message = answer.body["choices"][0]["message"]
    return {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}


def _sent(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": str(message.role), "content": message.text}
    if message.tool_calls:
        body |= {"content": message.text or None, "tool_calls": [_sent_call(call) for call in message.tool_calls]}
    if message.native:
        body |= json.loads(message.native).get("chat") or {}
    if message.role is Role.TOOL:
        body["tool_call_id"] = message.tool_call_id
    return body


def _sent_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _sent_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _heard(message: Mapping[str, Any]) -> Message:
    role = ROLES.get(str(message.get("role")))
    if role is None:
        raise NotUnderstood(f"a message has the role {message.get('role')}")
    calls = tuple(_heard_call(call) for call in message.get("tool_calls") or ())
    return Message(
        role=role,
        text=text_of(message.get("content"), f"a {role} message"),
        tool_calls=calls,
        tool_call_id=str(message.get("tool_call_id") or ""),
    )


def _heard_call(call: object) -> ToolCall:
    try:
        return _call(call)
    except (KeyError, TypeError) as error:
        raise NotUnderstood(f"a tool call has no {error}") from None


def _call(call: Any) -> ToolCall:
    arguments = call["function"].get("arguments") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(call_id=str(call.get("id") or ""), name=str(call["function"]["name"]), arguments=text)


def _heard_tool(tool: Mapping[str, Any]) -> ToolSpec:
    if tool.get("type") != "function":
        raise NotUnderstood(f"a tool has the type {tool.get('type')}; only functions are passed on")
    function = fields(tool.get("function"), "a function")
    return ToolSpec(
        name=str(function.get("name", "")),
        description=str(function.get("description") or ""),
        parameters=function.get("parameters") or {"type": "object", "properties": {}},
    )


def _usage(body: object) -> Usage:
    if not isinstance(body, dict):
        return Usage()
    details = body.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt=count(body.get("prompt_tokens")),
        completion=count(body.get("completion_tokens")),
        cached=count(cached),
    )


def _finish(reply: Reply) -> str:
    return "stop" if reply.finish_reason is Finish.UNKNOWN else str(reply.finish_reason)


def _head(answer: SpokenAnswer, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.answer_id}",
        "object": kind,
        "created": answer.created,
        "model": answer.spoken.model,
    }


def _chunk(head: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"
