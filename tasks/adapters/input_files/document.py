"""JSON documents: a list of rows, an object of rows or of columns, one row, a page of the Hugging Face rows API.

What stands before a cut is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.input_files.raw import RawRow, describe

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Member:
    """One element of a list, or one pair of an object, and where it starts."""

    start: int
    key: str | None
    value: object
    size: int


@dataclass(frozen=True, slots=True)
class _Cut(Exception):
    """The text stops making sense at `position`."""

    position: int
    what: str


def is_page(found: Mapping[str, object]) -> bool:
    """Whether an object is a page of the Hugging Face rows API."""
    return "features" in found and isinstance(found.get("rows"), list)


def read(path: Path, max_row_bytes: int) -> Iterator[RawRow]:
    """The rows in their order. After a place that is not JSON there is one row with a problem, and no more."""
    text = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    members: list[_Member] = []
    cut: _Cut | None = None
    try:
        members.extend(_members(text))
    except _Cut as error:
        cut = error
    lines = _LineCounter(text)
    if (page := _page_of(members)) is not None:
        yield from (_cell_row(number, value) for number, value in enumerate(page, 1))
    elif _are_columns(members):
        yield from _columns(members)
    elif any(member.key == "instance_id" for member in members):
        yield RawRow(lines.at(members[0].start), {member.key or "": member.value for member in members})
    else:
        yield from (_row(member, lines.at(member.start), max_row_bytes) for member in members)
    if cut is not None:
        yield RawRow(lines.at(cut.position), {}, f"the file is not JSON from here on, or cut short: {cut.what}")


def _members(text: str) -> Iterator[_Member]:
    """The elements of the outermost list or object."""
    position = _skip(text, 0)
    closing = "]" if text[position] == "[" else "}"
    position = _skip(text, position + 1)
    while text[position : position + 1] != closing:
        start, key = position, None
        if closing == "}":
            key, position = _key(text, position)
        value, end = _decode(text, position)
        yield _Member(start, key, value, end - start)
        position = _skip(text, end)
        if text[position : position + 1] not in (",", closing):
            raise _Cut(position, f"expected ',' or '{closing}'")
        if text[position] == ",":
            position = _skip(text, position + 1)


def _key(text: str, position: int) -> tuple[str, int]:
    """The key of a pair, and where its value starts."""
    key, end = _decode(text, position)
    end = _skip(text, end)
    if not isinstance(key, str) or text[end : end + 1] != ":":
        raise _Cut(position, "expected a key in quotes and ':'")
    return key, _skip(text, end + 1)


def _decode(text: str, position: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        raise _Cut(position, str(error)) from error


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _row(member: _Member, line: int, max_row_bytes: int) -> RawRow:
    if member.size > max_row_bytes:
        return RawRow(line, {}, f"the row is longer than {max_row_bytes:,} bytes", member.key)
    if not isinstance(member.value, dict):
        return RawRow(line, {}, f"the row is {describe(member.value)} and not an object", member.key)
    return RawRow(line, member.value, key=member.key)


def _page_of(members: list[_Member]) -> list[object] | None:
    """The rows of an answer of https://huggingface.co/docs/dataset-viewer/rows; None for another document."""
    found = {member.key: member.value for member in members if member.key is not None}
    return list(found["rows"]) if is_page(found) else None  # type: ignore[call-overload]


def _cell_row(number: int, value: object) -> RawRow:
    """One of them, by its position. Cells that the API cut short make a row that cannot be taken."""
    row = value.get("row") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(row, dict):
        return RawRow(number, {}, f"the row is {describe(value)} and not an object with a `row`")
    if cut := value.get("truncated_cells"):
        named = ", ".join(map(str, cut)) if isinstance(cut, list) else str(cut)
        return RawRow(number, {}, f"the rows API cut {named} short: download the data set's Parquet files instead")
    return RawRow(number, row)


def _are_columns(members: list[_Member]) -> bool:
    """Whether every value holds one column: a list, or an object whose keys are positions."""
    return bool(members) and all(member.key is not None and _cells(member.value) is not None for member in members)


def _cells(value: object) -> Mapping[str, object] | None:
    """Position → value; None where `value` is not a column."""
    if isinstance(value, list):
        return {str(position): cell for position, cell in enumerate(value)}
    if isinstance(value, dict) and value and all(key.isdecimal() for key in value):
        return value
    return None


def _columns(members: list[_Member]) -> Iterator[RawRow]:
    """Rows put together by position, counted from 1 instead of a line. A short column leaves its name out of a row."""
    columns = {member.key or "": _cells(member.value) or {} for member in members}
    positions = dict.fromkeys(position for cells in columns.values() for position in cells)
    for number, position in enumerate(positions, 1):
        yield RawRow(number, {name: cells[position] for name, cells in columns.items() if position in cells})


class _LineCounter:
    """Line numbers of ascending positions, without counting from the start each time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._line = 1

    def at(self, position: int) -> int:
        """The 1-based line of a position that is not before the last one asked for."""
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line
