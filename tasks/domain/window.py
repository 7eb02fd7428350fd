"""Rolling time windows: from `2 months` before now, or from a day on."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tasks.domain.errors import UsageError

_SPAN = re.compile(r"(\d{1,4}) *(day|week|month)s?")
_DAYS = {"day": 1, "week": 7, "month": 31}


def since_when(said: str, now: datetime) -> datetime | None:
    """Returns the start of a window: `2026-01-01` (UTC), or `2 months` before `now` at midnight; None for all time."""
    if not said:
        return None
    if span := _SPAN.fullmatch(said.strip()):
        back = timedelta(days=int(span[1]) * _DAYS[span[2]])
        return (now - back).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        day = datetime.fromisoformat(said)
    except ValueError:
        raise UsageError(f"{said!r} is no window", hint="2026-01-01, or 2 months, 6 weeks, 45 days") from None
    return day if day.tzinfo else day.replace(tzinfo=UTC)
