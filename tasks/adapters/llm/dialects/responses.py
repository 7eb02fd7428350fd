"""The responses dialect (OpenAI's `/v1/responses`), stateless: every call contains its whole conversation."""

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

ROLES = {"developer": Role.SYSTEM, "system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
INCOMPLETE = {"max_output_tokens": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}
"""Causes of an incomplete reply."""
PASSED_ON = ("parallel_tool_calls", "top_p")
NATIVE = (
    "include",
    "input",
    "instructions",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
)
"""Parameters of a caller's body that are passed on to a provider of this dialect."""

ENCRYPTED = "reasoning.encrypted_content"
"""Value of `include` that returns reasoning encrypted, so that it can be sent back although the provider stores
nothing."""
AT_THE_PROVIDER = ("item_reference", "web_search_call")
"""Items that refer to data stored by the provider, or to actions of the provider."""
SILENT = ("reasoning", "item_reference", "web_search_call")
"""Items without content that the chat dialect could carry."""

CALLS = ("function_call", "custom_tool_call")
SPOKEN_OUT = ("message", *CALLS)
"""Items whose content a stream sends after their start; others (`reasoning`) are sent whole."""

FREE_FORM = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def request_body(request: ModelRequest, *, limit_name: str = "max_output_tokens") -> dict[str, Any]:
    """Return the body for a provider, which stores nothing."""
    del limit_name  # the limit has one name in this dialect
    body: dict[str, Any]
    if request.body:
        body = json.loads(request.body)
    else:
        body = _told(request) | _sent_options(json.loads(request.options))
        if request.temperature is not None:
            body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    return body | {"model": request.model_id, "store": False}


def kept(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a caller's parameters without tools that the provider runs itself, and without data that it must store."""
    tools = [tool for tool in body.get("tools") or [] if tool.get("type") in ("function", "custom")]
    rest = {name: value for name, value in body.items() if name not in ("tools", "include")}
    if isinstance(said := rest.get("input"), list):
        rest["input"] = [item for item in said if item.get("type") not in AT_THE_PROVIDER]
    if ENCRYPTED in (body.get("include") or []):
        rest["include"] = [ENCRYPTED]
    return rest | ({"tools": tools} if tools else {})


def option_fields(options: Options) -> dict[str, Any]:
    """Return options in the names of this dialect, without the limit.

    Leaves out unset options and those without an equivalent (`seed`, `stop`).
    """
    named: dict[str, Any] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "reasoning": {"effort": options.reasoning_effort} if options.reasoning_effort else None,
        "text": {"verbosity": options.verbosity} if options.verbosity else None,
    }
    return {name: value for name, value in named.items() if value is not None}


def reply_of(body: object, *, raw: str, seconds: float) -> Reply:
    """Return the reply in a provider's response. Raises `NotAReply` for an invalid one."""
    try:
        made = list(body["output"])  # type: ignore[index]
        parts = [part for item in made if item["type"] == "message" for part in item["content"]]
        texts = [str(part["text"] or "") for part in parts if part["type"] == "output_text"]
        calls = tuple(_called(item, item["type"]) for item in made if item["type"] in CALLS)
        finish = _ended(body, calls)  # type: ignore[arg-type]
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAReply(f"{type(error).__name__} {error}") from None
    opaque = any(item["type"] == "reasoning" for item in made)
    return Reply(
        text="".join(texts),
        tool_calls=calls,
        usage=_counted(body.get("usage")),  # type: ignore[attr-defined]
        seconds=seconds,
        raw=raw,
        native=json.dumps({"responses": made}) if opaque else "",
        finish_reason=finish,
    )


def spoken(body: Mapping[str, Any]) -> ClientRequest:
    """Parse a caller's body. Raises `NotUnderstood` if it cannot be passed on.

    Leaves out the provider's own tools (such as web search), since these could reach the network.
    """
    if body.get("previous_response_id"):
        raise NotUnderstood("previous_response_id is given, and nothing is kept: send the whole conversation")
    tools = [fields(tool, "a tool") for tool in items(body.get("tools") or [], "tools")]
    return ClientRequest(
        model=str(body.get("model", "")),
        messages=_messages(body),
        tools=tuple(_tool(tool) for tool in tools if tool.get("type") in ("function", "custom")),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_output_tokens"),
        options=_options(body),
        stream=bool(body.get("stream")),
        free_form=frozenset(str(tool.get("name")) for tool in tools if tool.get("type") == "custom"),
    )


def rendered(answer: SpokenAnswer) -> dict[str, Any]:
    """Return the answer as one body."""
    if answer.body is not None:
        return dict(answer.body)
    reply = answer.reply
    why = {finish: reason for reason, finish in INCOMPLETE.items()}.get(reply.finish_reason)
    return _head(answer) | {
        "status": "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "output": _output(answer),
        "usage": _usage(reply.usage),
    }


def events(answer: SpokenAnswer) -> Iterator[str]:
    """Return the answer as server-sent events."""
    numbers = iter(range(1_000_000))

    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': next(numbers)} | more)}\n\n"

    whole = rendered(answer)
    unsaid: dict[str, Any] = {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    begun = whole | unsaid
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        started = item | {"status": "in_progress"} | _emptied(item) if item["type"] in SPOKEN_OUT else item
        yield event("response.output_item.added", output_index=index, item=started)
        for kind, more in _deltas(item):
            yield event(kind, item_id=item.get("id", ""), output_index=index, **more)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{whole.get('status') or 'completed'}", response=whole)


def error_body(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    told = body.get("instructions")
    messages = [Message(role=Role.SYSTEM, text=str(told))] if told else []
    given = body.get("input", "")
    if isinstance(given, str):
        return (*messages, Message(role=Role.USER, text=given))
    for item in items(given, "input"):
        _add(messages, fields(item, "an item of the input"))
    return tuple(messages)


def _add(messages: list[Message], item: Mapping[str, Any]) -> None:
    """Append an item; consecutive calls become one message of the assistant."""
    kind = item.get("type", "message")
    if kind in CALLS:
        _add_call(messages, _called(item, kind))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text = text_of(item.get("output"), "a tool's output")
        messages.append(Message(role=Role.TOOL, text=text, tool_call_id=str(item.get("call_id", ""))))
    elif kind == "message":
        role = ROLES.get(str(item.get("role")))
        if role is None:
            raise NotUnderstood(f"a message has the role {item.get('role')}")
        messages.append(Message(role=role, text=text_of(item.get("content"), f"a {role} message")))
    elif kind not in SILENT:
        raise NotUnderstood(f"the input holds an item of type {kind}")


def _add_call(messages: list[Message], call: ToolCall) -> None:
    last = messages[-1] if messages else None
    if last is not None and last.role is Role.ASSISTANT:
        calls = (*last.tool_calls, call)
        messages[-1] = Message(role=Role.ASSISTANT, text=last.text, tool_calls=calls)
    else:
        messages.append(Message(role=Role.ASSISTANT, tool_calls=(call,)))


def _called(item: Mapping[str, Any], kind: str) -> ToolCall:
    given = str(item.get("arguments") or "")
    arguments = json.dumps({"input": item.get("input", "")}) if kind == "custom_tool_call" else given
    return ToolCall(call_id=str(item.get("call_id", "")), name=str(item.get("name", "")), arguments=arguments)


def _tool(tool: Mapping[str, Any]) -> ToolSpec:
    schema = FREE_FORM if tool.get("type") == "custom" else tool.get("parameters")
    return ToolSpec(
        name=str(tool.get("name", "")),
        description=str(tool.get("description") or ""),
        parameters=schema or {"type": "object", "properties": {}},
    )


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return further parameters as in the chat dialect."""
    options = picked(body, PASSED_ON)
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("name"):
        options["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    elif isinstance(choice, str):
        options["tool_choice"] = choice
    if effort := (body.get("reasoning") or {}).get("effort"):
        options["reasoning_effort"] = effort
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema":
        schema = {name: value for name, value in form.items() if name != "type"}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form.get("type") == "json_object":
        options["response_format"] = {"type": "json_object"}
    return options


def _told(request: ModelRequest) -> dict[str, Any]:
    system = [message.text for message in request.messages if message.role is Role.SYSTEM]
    said = [item for message in request.messages if message.role is not Role.SYSTEM for item in _sent(message)]
    told: dict[str, Any] = {"input": said}
    if system:
        told["instructions"] = "\n\n".join(system)
    if request.tools:
        told["tools"] = [_sent_tool(tool) for tool in request.tools]
    return told


def _sent(message: Message) -> list[dict[str, Any]]:
    """Return a message as items. Reasoning is sent back unchanged."""
    if message.role is Role.TOOL:
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}]
    if message.native and (made := json.loads(message.native).get("responses")):
        return list(made)
    calls = [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    text = {"type": "message", "role": str(message.role), "content": message.text}
    return calls if calls and not message.text else [text, *calls]


def _sent_tool(tool: ToolSpec) -> dict[str, Any]:
    head = {"type": "function", "name": tool.name, "description": tool.description, "strict": False}
    return head | {"parameters": dict(tool.parameters)}


def _sent_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Translate parameters of the chat dialect; leaves out those without an equivalent."""
    body, text = picked(options, PASSED_ON), picked(options, ("verbosity",))
    if effort := options.get("reasoning_effort"):
        body |= {"reasoning": {"effort": effort}, "include": [ENCRYPTED]}
    form = options.get("response_format") or {}
    if form.get("type") == "json_schema":
        text["format"] = {"type": "json_schema"} | form["json_schema"]
    elif form.get("type") == "json_object":
        text["format"] = {"type": "json_object"}
    if text:
        body["text"] = text
    choice = options.get("tool_choice")
    if isinstance(choice, dict):
        body["tool_choice"] = {"type": "function", "name": choice["function"]["name"]}
    elif choice is not None:
        body["tool_choice"] = choice
    return body


def _ended(body: Mapping[str, Any], calls: tuple[ToolCall, ...]) -> Finish:
    if body.get("status") == "incomplete":
        reason = str((body.get("incomplete_details") or {}).get("reason"))
        return INCOMPLETE.get(reason, Finish.UNKNOWN)
    return Finish.TOOL_CALLS if calls else Finish.STOP


def _counted(body: object) -> Usage:
    if not isinstance(body, dict):
        return Usage()
    details = body.get("input_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt, completion = count(body.get("input_tokens")), count(body.get("output_tokens"))
    return Usage(prompt=prompt, completion=completion, cached=count(cached))


def _output(answer: SpokenAnswer) -> list[dict[str, Any]]:
    reply, made = answer.reply, []
    if reply.text or not reply.tool_calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}]
        head = {"type": "message", "id": f"msg_{answer.answer_id}", "status": "completed", "role": "assistant"}
        made.append(head | {"content": content})
    for index, call in enumerate(reply.tool_calls):
        made.append(_call_item(answer, index, call))
    return made


def _call_item(answer: SpokenAnswer, index: int, call: ToolCall) -> dict[str, Any]:
    head = {"id": f"fc_{answer.answer_id}_{index}", "status": "completed", "call_id": call.call_id, "name": call.name}
    if call.name in answer.spoken.free_form:
        given = (call.parsed() or {}).get("input", call.arguments)
        return head | {"type": "custom_tool_call", "input": str(given)}
    return head | {"type": "function_call", "arguments": call.arguments}


def _emptied(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return empty values for the parts of an item that a stream sends later."""
    later: dict[str, Any] = {"content": [], "arguments": "", "input": ""}
    return {name: later[name] for name in later if name in item}


def _deltas(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "message":
        for number, part in enumerate(item["content"]):
            yield from _part_deltas({"content_index": number}, part)
    elif item["type"] == "function_call":
        yield "response.function_call_arguments.delta", {"delta": item["arguments"]}
        yield "response.function_call_arguments.done", {"arguments": item["arguments"], "name": item["name"]}
    elif item["type"] == "custom_tool_call":
        yield "response.custom_tool_call_input.delta", {"delta": item["input"]}
        yield "response.custom_tool_call_input.done", {"input": item["input"]}


def _part_deltas(place: dict[str, Any], part: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of a part. Parts other than text (such as a refusal) are sent whole."""
    is_text = part["type"] == "output_text"
    yield "response.content_part.added", place | {"part": dict(part) | ({"text": ""} if is_text else {})}
    if is_text:
        yield "response.output_text.delta", place | {"delta": part["text"], "logprobs": []}
        yield "response.output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "response.content_part.done", place | {"part": dict(part)}


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.prompt is None or usage.completion is None:
        return None
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached or 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }


def _head(answer: SpokenAnswer) -> dict[str, Any]:
    return {
        "id": f"resp_{answer.answer_id}",
        "object": "response",
        "created_at": answer.created,
        "model": answer.spoken.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": answer.spoken.temperature,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }
