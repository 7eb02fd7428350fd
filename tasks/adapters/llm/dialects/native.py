"""A caller's own body as the request, where it speaks the provider's dialect.

Translation loses what only the two of them understand: thinking and its signatures, encrypted reasoning, cache markers.
So the body goes as it is, less what this project must not pass on (tools that the provider runs itself and that reach
the network, names of people, what is to be kept at the provider) and with the sweep's options over the caller's. A
dialect says in `NATIVE` which parameters may pass, in `kept` what of messages and tools, and in `option_fields` how
options are spelt.
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
    """The request with the caller's body: `over` goes before what it says, `under` is for what it does not say.

    Whether a temperature is sent at all is the request's to say: some models refuse one, and all of Anthropic's do
    where they think."""
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
