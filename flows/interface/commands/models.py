"""`swt models`: list the models, the missing keys, and with `--ask` the answer to one short question."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from flows.interface.settings import Settings
from tasks.adapters.llm.base import UNSAID, ModelQuestion, user
from tasks.adapters.llm.catalogue.models import ModelCard, read_models
from tasks.adapters.llm.catalogue.prices import Prices, read_prices
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import make_router
from tasks.adapters.store.tables.store import Store
from tasks.adapters.tabular import text_table
from tasks.adapters.text import without_middle
from tasks.domain.errors import SwtError
from tasks.domain.llm import Work

ASKING = "models"
"""Method name under which the calls of `--ask` are counted."""
QUESTION = "Answer with the single word: ready"
SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsTold:
    """Output of the command."""

    text: str
    exit_code: int
    """1 if a model did not answer."""


def show_models(settings: Settings, names: Sequence[str], environ: Mapping[str, str], *, ask: bool) -> ModelsTold:
    """Returns the cards of these models, or of all; with `ask`, their answers instead. Raises `NotFound` for a model
    without a card."""
    models = read_models(settings.models / "models.toml", settings.own_models)
    prices = read_prices(settings.models / "prices.toml", settings.own_models)
    cards = [models.card(name) for name in names or sorted(models.cards)]
    rows = list(_answers(settings, cards, environ)) if ask else [_row(card, prices, environ) for card in cards]
    failed = any(row.get("problem") for row in rows)
    return ModelsTold(text=text_table(pa.Table.from_pylist(rows)), exit_code=int(failed))


def _row(card: ModelCard, prices: Prices, environ: Mapping[str, str]) -> dict[str, Any]:
    price = prices.at(card.price_key, datetime.now(UTC))
    return {
        "model": card.name,
        "provider": card.provider.name,
        "dialect": card.dialect,
        "context": card.context,
        "cutoff": card.cutoff.isoformat() if card.cutoff else None,
        "usd_in": price.input if price else None,
        "usd_out": price.output if price else None,
        "missing": _missing(card, environ),
    }


def _missing(card: ModelCard, environ: Mapping[str, str]) -> str | None:
    """Returns the environment variable that must hold the key, if it is empty. Never returns the key."""
    name = card.provider.key_env
    return name if name and not environ.get(name) else None


def _answers(settings: Settings, cards: Sequence[ModelCard], environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Send one question to each model through the router: the call is metered, recorded, and a row of `llm_call`."""
    store = Store(settings.store)
    board = make_router(
        store=store, cache=settings.cache, data=settings.models, own=settings.own_models, environ=environ
    )
    try:
        for card in cards:
            yield {"model": card.name, **_answer(board, card)}
    finally:
        board.close()


def _answer(board: ModelRouter, card: ModelCard) -> dict[str, Any]:
    now = int(time.time())  # a new sample: a stored answer of yesterday does not show that the model answers today
    question = ModelQuestion(messages=(user(QUESTION),), options=UNSAID, sample=now)
    none: dict[str, Any] = {"answer": None, "seconds": None, "tokens_in": None, "tokens_out": None, "usd": None}
    try:
        board.check_key(card.name)
        reply = board.model(card.name, Work(method=ASKING, sample=now)).complete(question)
    except SwtError as error:
        return none | {"problem": f"{error.slug}: {error}"}
    return {
        "answer": without_middle(" ".join(reply.text.split()), SHOWN),
        "seconds": round(reply.seconds, 1),
        "tokens_in": reply.usage.prompt,
        "tokens_out": reply.usage.completion,
        "usd": reply.cost_usd,
        "problem": None,
    }
