"""Facts about a model, as rows: queries about contamination need its cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import ModelName
from tasks.domain.table import table


@table("model")
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """One model of data/models.toml, at the time of writing the row."""

    model: ModelName
    """Its name there, which candidates and calls use."""
    provider: str
    cutoff: datetime | None
    """Midnight UTC at the end of the last day of its training data; null if unpublished."""
    context: int | None
    """Context limit in tokens, reply included."""
    source: str
    """Source of these facts."""
