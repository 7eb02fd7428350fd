"""Converts `llm_call` rows to JSON and back, for rows on disk that are not in a table yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tasks.domain.llm import CallStatus, LlmCall

LATER: Mapping[str, Any] = {"estimate_usd": None, "tokens_cache_written": None}
"""Defaults of columns that older marks and exchanges do not have."""


def row_facts(row: LlmCall) -> dict[str, Any]:
    """Return a row as plain JSON values; `row_of` is the inverse."""
    facts = asdict(row)
    return facts | {name: facts[name].isoformat() for name in ("started_at", "finished_at")}


def row_of(facts: Mapping[str, Any]) -> LlmCall:
    """Return the row from the output of `row_facts`. Raises `TypeError` or `ValueError` for invalid input."""
    times = {name: datetime.fromisoformat(facts[name]) for name in ("started_at", "finished_at")}
    return LlmCall(**{**LATER, **facts} | times | {"status": CallStatus(facts["status"])})
