"""`llm_call` rows as plain JSON and back, for what lies on disk before it is in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tasks.domain.llm import CallStatus, LlmCall

LATER: Mapping[str, Any] = {"estimate_usd": None, "tokens_cache_written": None}
"""Columns that marks and exchanges of before do not have."""


def row_facts(row: LlmCall) -> dict[str, Any]:
    """`row_of` is the inverse."""
    facts = asdict(row)
    return facts | {name: facts[name].isoformat() for name in ("started_at", "finished_at")}


def row_of(facts: Mapping[str, Any]) -> LlmCall:
    """The row in what `row_facts` gave; `TypeError` or `ValueError` where it is none."""
    times = {name: datetime.fromisoformat(facts[name]) for name in ("started_at", "finished_at")}
    return LlmCall(**{**LATER, **facts} | times | {"status": CallStatus(facts["status"])})
