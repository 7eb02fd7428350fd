"""Passes a caller's own body on, if caller and provider use the same dialect.

Translation loses thinking with signatures, encrypted reasoning and cache markers. So the body is passed on unchanged,
with two exceptions. Parts that must not be passed on are removed: tools that the provider runs with network access,
personal names, data to store at the provider. A sweep's options override the caller's. Each dialect defines the allowed
parameters (`NATIVE`), the allowed parts of messages and tools (`kept`), and the option names (`option_fields`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

from tasks.adapters.llm.base import Options
from tasks.adapters.llm.dialects.spoken import ClientRequest, picked
from tasks.adapters.llm.records.request import ModelRequest


def native(
    request: ModelRequest, dialect: ModuleType, spoken: ClientRequest, *, over: Options, under: Options
) -> ModelRequest:
    """Return the request with the caller's body: options in `over` override it, options in `under` are defaults.

    The request decides whether a temperature is sent: some models reject one, and Anthropic's do while thinking.
    """
    given = dialect.kept(picked(spoken.body, dialect.NATIVE))
    body = {**dialect.option_fields(under), **given, **dialect.option_fields(over)}
    temperature = None if request.dialect == "messages" and _thinks(body.get("thinking")) else request.temperature
    if temperature is None:
        body.pop("temperature", None)
    return replace(
        request,
        temperature=temperature,
        body=json.dumps(body, sort_keys=True),
        headers=json.dumps(dict(spoken.headers), sort_keys=True),
    )


def _thinks(asked: object) -> bool:
    return isinstance(asked, dict) and asked.get("type") not in (None, "disabled")
