"""What comes out of a foreign file: a row with the line it stood on, or what was wrong with that line."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.text import counted
from tasks.domain.names import InstanceId

MAX_ROW_BYTES = 32 * 1024 * 1024
"""A longer line is not a row but an accident; the largest honest ones hold a few megabytes."""

_MILLISECONDS = 10_000_000_000
"""A larger number of seconds is past the year 2286, so it counts milliseconds."""
_LONE_SURROGATE = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")


@dataclass(frozen=True, slots=True)
class LineProblem:
    """Something in a file that could not be taken as it stands."""

    line: int
    """1-based: the line where the row starts, or the row's position in a Parquet file or a JSON object of columns."""
    instance_id: InstanceId | None
    """Null where the row could not be read far enough to tell."""
    what: str


@dataclass(frozen=True, slots=True)
class RawRow:
    """One object of a file, its values as they came; `problem` says why there is none."""

    line: int
    values: Mapping[str, object]
    problem: str = ""
    key: str | None = None
    """The name it stood under, where the file is one JSON object of rows."""


NAMED = 20
"""Keys that a note names; the others it counts."""


def unread_note(source: str, unread: Counter[str]) -> tuple[str, ...]:
    """One note on the keys of a file that nothing reads, with the number of rows that have each; none for none."""
    if not unread:
        return ()
    named = [f"{key if key.isprintable() else ascii(key)} ({counted(n, 'row')})" for key, n in sorted(unread.items())]
    more = [f"{len(named) - NAMED:,} more keys"] if len(named) > NAMED else []
    return (f"{source}: nothing reads {', '.join([*named[:NAMED], *more])}",)


class WrongValue(Exception):
    """A value that a row may not have; the message completes a sentence that starts with the name of the field."""


class UnsafeValue(WrongValue):
    """A value that could lead out of a folder: the row is not taken, even if it could do without the field."""


def text_of(value: object) -> str:
    """A text value; bytes that are not UTF-8 become surrogate escapes. Null is the empty string.

    The result always encodes as UTF-8 with `surrogateescape`, which is how keys are made of it.
    """
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise WrongValue(f"is {describe(value)} and not text")
    return _LONE_SURROGATE.sub(_escape, value)


def describe(value: object) -> str:
    """What JSON calls the type of `value`."""
    names = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object", str: "text"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


def is_missing(value: object) -> bool:
    """Null, blank text, or the NaN that data frames write for null."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str | bytes) and not value.strip())


def moment_of(value: object) -> datetime | None:
    """ISO 8601 in any of its forms, or a number since 1970, as aware UTC; without an offset it is UTC already."""
    if is_missing(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since_1970(value)
    when = value if isinstance(value, datetime) else _from_iso(text_of(value).strip())
    try:
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except OverflowError as error:  # of the year 1 or 9999, in another zone
        raise WrongValue(f"{value!r} is not a moment in UTC") from error


def _from_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise WrongValue(f"{text!r} is not a moment in ISO 8601") from error


def _since_1970(value: float) -> datetime:
    seconds = value / 1000 if abs(value) > _MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise WrongValue(f"{value} is no number of seconds since 1970") from error


def _escape(match: re.Match[str]) -> str:
    """A surrogate that stands for no byte, as the three bytes that encode it."""
    return match[0].encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
