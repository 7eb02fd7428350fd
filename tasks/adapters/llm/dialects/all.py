"""The three dialects by name and by path."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from tasks.adapters.llm.dialects import chat, messages, responses

BY_NAME: Mapping[str, ModuleType] = {"chat": chat, "responses": responses, "messages": messages}
PATHS: Mapping[str, str] = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
"""Below a provider's base URL."""
BY_PATH: Mapping[str, ModuleType] = {path: BY_NAME[name] for name, path in PATHS.items()}


def name_of(dialect: ModuleType) -> str:
    """Its name in `BY_NAME`."""
    return dialect.__name__.rpartition(".")[2]
