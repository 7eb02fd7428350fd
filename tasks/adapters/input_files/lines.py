"""JSON lines. Memory holds one line at a time, and never one that is longer than the limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tasks.adapters.input_files.raw import RawRow, describe

_BOM = b"\xef\xbb\xbf"
_CHUNK = 1024 * 1024


def read(path: Path, max_row_bytes: int) -> Iterator[RawRow]:
    """One `RawRow` for every line that is not blank. Lines end with LF or CRLF; bytes that are not UTF-8 are kept."""
    with path.open("rb") as handle:
        for number, (line, whole) in enumerate(_lines(handle, max_row_bytes), 1):
            if not whole:
                yield RawRow(number, {}, f"the line is longer than {max_row_bytes:,} bytes")
            elif line.strip():
                yield _row(number, line)


def first_two(path: Path, max_row_bytes: int) -> tuple[str, str]:
    """The first two lines that are not blank, cut at the limit; empty strings where there are fewer."""
    with path.open("rb") as handle:
        texts = (_text(line).strip() for line, _ in _lines(handle, max_row_bytes))
        first, second, *_ = [*islice(filter(None, texts), 2), "", ""]
    return first, second


def _lines(handle: BinaryIO, limit: int) -> Iterator[tuple[bytes, bool]]:
    """Each line without a leading byte-order mark, and whether it is whole."""
    line = handle.readline(limit + 1).removeprefix(_BOM)
    while line:
        whole = len(line) <= limit or line.endswith(b"\n")
        yield line, whole
        if not whole:
            _skip_line(handle)
        line = handle.readline(limit + 1)


def _skip_line(handle: BinaryIO) -> None:
    """Read on to the end of the line that the handle stands in."""
    while (piece := handle.readline(_CHUNK)) and not piece.endswith(b"\n"):
        pass


def _row(number: int, line: bytes) -> RawRow:
    try:
        value = json.loads(_text(line))
    except (ValueError, RecursionError) as error:
        return RawRow(number, {}, f"the line is not JSON, or cut short: {error}")
    if not isinstance(value, dict):
        return RawRow(number, {}, f"the line holds {describe(value)} and not an object")
    return RawRow(number, value)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
