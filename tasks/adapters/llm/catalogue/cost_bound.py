"""Computes the most that a call can cost, before it is made: the amount that a budget reserves.

Uses no tokenizer, since most models do not publish theirs: one token has at least one byte. Text has three to four
bytes per token, so the bound is three to four times the actual prompt. The difference is released when the provider
reports its count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.catalogue.prices import Price
from tasks.adapters.llm.records.request import ModelRequest

TOOL_WORDS = 1024
"""Tokens that a provider adds if tools are offered. Anthropic documents 346 to 530 for its models
(https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview)."""
UNLIMITED = 131_072
"""Tokens of a reply if neither call nor card has a limit: no model of data/models.toml produces more."""
LIKELY = 4
"""Typical bytes per token."""
REPLY = 4_096
"""Upper estimate of a typical reply in tokens, if there is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBound:
    """Upper bound of what a call can cost."""

    tokens: int
    """Prompt and completion tokens together."""
    usd: float | None
    """None if there is no price for the call."""


def bound_of(request: ModelRequest, card: ModelCard, price: Price | None) -> CostBound:
    """Return the bound of one attempt, with a reply as long as its limit allows."""
    sent = _sent(request)
    made = request.max_tokens or card.output or card.context or UNLIMITED
    if price is None or (price.up_to is not None and sent > LIKELY * price.up_to):
        return CostBound(tokens=sent + made, usd=None)
    return CostBound(tokens=sent + made, usd=price.most(sent, made))


def likely_tokens(request: ModelRequest, card: ModelCard) -> int:
    """Estimate a call's tokens as providers do for rate limits: four bytes per token, plus the limit on the reply
    (https://platform.openai.com/docs/guides/rate-limits)."""
    return likely_prompt(request) + (request.max_tokens or min(card.output or REPLY, REPLY))


def likely_prompt(request: ModelRequest) -> int:
    """Estimate the tokens of the prompt at four bytes per token."""
    return _sent(request) // LIKELY


def _sent(request: ModelRequest) -> int:
    """Return the bytes of the prompt."""
    text = request.body or json.dumps(request.facts(), ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass")) + (TOOL_WORDS if request.tools else 0)
