"""What is known of a model, as rows: questions about contamination need its cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import ModelName
from tasks.domain.table import table


@table("model")
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """One model of data/models.toml, as it was when the row was written."""

    model: ModelName
    """Its name there: what candidates and calls are labelled with."""
    provider: str
    cutoff: datetime | None
    """Midnight UTC at the end of the last day of its training data; null where nobody published it."""
    context: int | None
    """Tokens that fit, reply included."""
    source: str
    """Where the facts are from."""
