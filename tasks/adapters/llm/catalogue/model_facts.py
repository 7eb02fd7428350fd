"""Writes data/models.toml as rows, so that SQL can query a model's cutoff."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from tasks.adapters.llm.catalogue.models import ModelCard, Models
from tasks.adapters.store.tables.store import Store
from tasks.domain.model_fact import ModelFact
from tasks.domain.names import ModelName


def record_models(store: Store, models: Models) -> int:
    """Write the models that the store lacks or has with other values; return their number."""
    known = {row.model: row for row in store.read(ModelFact)}
    fresh = [row for row in map(fact_of, models.cards.values()) if known.get(row.model) != row]
    store.write(fresh)
    return len(fresh)


def fact_of(card: ModelCard) -> ModelFact:
    """Return the row of a card."""
    return ModelFact(
        model=ModelName(card.name),
        provider=card.provider.name,
        cutoff=_end_of(card.cutoff) if card.cutoff else None,
        context=card.context,
        source=card.source,
    )


def _end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)
