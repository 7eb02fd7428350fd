"""The most that a call can come to, before it is made: what a ceiling sets aside for it.

No tokenizer is asked, since most models do not publish theirs: a token stands for at least one byte of what is sent.
Text has three to four bytes a token, so this is three to four times what a prompt will count; it is given back when
the provider has told its count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.catalogue.prices import Price
from tasks.adapters.llm.records.request import ModelRequest

TOOL_WORDS = 1024
"""Tokens that a provider adds where tools are offered. Anthropic says 346 to 530 for its models
(https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview)."""
UNLIMITED = 131_072
"""Tokens of a reply where neither the call nor the card has a limit: no model of data/models.toml makes more."""
LIKELY = 4
"""Bytes of a usual token."""
REPLY = 4_096
"""Tokens of a usual reply, at most, where nobody said a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBound:
    """Not more than this."""

    tokens: int
    """Sent and made together."""
    usd: float | None
    """Null where there is no price for it."""


def bound_of(request: ModelRequest, card: ModelCard, price: Price | None) -> CostBound:
    """What one attempt at a call can come to, with a reply as long as its limit lets it be."""
    sent = _sent(request)
    made = request.max_tokens or card.output or card.context or UNLIMITED
    if price is None or (price.up_to is not None and sent > LIKELY * price.up_to):
        return CostBound(tokens=sent + made, usd=None)
    return CostBound(tokens=sent + made, usd=price.most(sent, made))


def likely_tokens(request: ModelRequest, card: ModelCard) -> int:
    """What providers take a call for when they count tokens in a minute: what is sent, at four bytes a token, and the
    limit on the reply (https://platform.openai.com/docs/guides/rate-limits)."""
    return likely_prompt(request) + (request.max_tokens or min(card.output or REPLY, REPLY))


def likely_prompt(request: ModelRequest) -> int:
    """Tokens of what is sent, at four bytes a token."""
    return _sent(request) // LIKELY


def _sent(request: ModelRequest) -> int:
    """Bytes of what is sent."""
    text = request.body or json.dumps(request.facts(), ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass")) + (TOOL_WORDS if request.tools else 0)
