"""The three dialects by name and by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import ModuleType
from typing import Any

from tasks.adapters.llm.base import UNSAID, ModelQuestion, Options, user
from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.dialects import chat, messages, responses
from tasks.domain.errors import UsageError

BY_NAME: Mapping[str, ModuleType] = {"chat": chat, "responses": responses, "messages": messages}
PATHS: Mapping[str, str] = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
"""Paths below a provider's base URL."""
BY_PATH: Mapping[str, ModuleType] = {path: BY_NAME[name] for name, path in PATHS.items()}


def refuse_unsent(card: ModelCard, options: Options) -> None:
    """Raise `UsageError` if the model's dialect or card drops one of these options."""
    said = {one.name for one in fields(Options) if getattr(options, one.name) not in (None, ())}
    sent = _body(card, options)
    unsent = sorted(name for name in said if _body(card, replace(options, **{name: getattr(UNSAID, name)})) == sent)
    if unsent:
        takes = ", ".join(sorted(said - set(unsent))) or "none of what is asked for"
        raise UsageError(f"{card.name} is not sent {', '.join(unsent)}", hint=f"leave it out; it is sent {takes}")


def _body(card: ModelCard, options: Options) -> dict[str, Any]:
    """Return the body sent with these options and without the card's."""
    request = replace(card, options=UNSAID).request(ModelQuestion(messages=(user(""),), options=UNSAID), options)
    body: dict[str, Any] = BY_NAME[card.dialect].request_body(request, limit_name=card.limit_name)
    return body


def name_of(dialect: ModuleType) -> str:
    """Return the dialect's name in `BY_NAME`."""
    return dialect.__name__.rpartition(".")[2]
