"""One function, `read_rows`, for every form in which rows arrive. The form is told by content more than by suffix.

| form | looks like |
| --- | --- |
| JSON lines | one object a line |
| JSON list | `[{…}, {…}]`, on one line or many |
| JSON object of rows | `{"django__django-1": {…}, …}` |
| JSON object of columns | `{"repo": ["…"], …}`, or `{"repo": {"0": "…"}, …}` |
| Parquet | starts with `PAR1` |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tasks.adapters.rows import document, lines, parquet
from tasks.adapters.rows.raw import MAX_ROW_BYTES, RawRow
from tasks.domain.errors import BadInput, NotFound

_FOREIGN = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def read_rows(path: Path, *, max_row_bytes: int = MAX_ROW_BYTES) -> Iterator[RawRow]:
    """Every row of the file in its order, broken ones included: those carry a problem.

    JSON lines and Parquet are read piece by piece; a JSON document is held in memory as text. Raises
    `NotFound` where there is no file, and `BadInput` where the file as a whole cannot be read.
    """
    if _head(path) == b"PAR1":
        return parquet.read(path)
    if _is_document(path, max_row_bytes):
        return document.read(path, max_row_bytes)
    return lines.read(path, max_row_bytes)


def _head(path: Path) -> bytes:
    """The first four bytes."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="give the path of a JSON lines, JSON or Parquet file")
    with path.open("rb") as handle:
        head = handle.read(4)
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise BadInput(f"{path} is {what}", hint="unpack it, or save it as UTF-8, and try again")
    return head


def _is_document(path: Path, max_row_bytes: int) -> bool:
    """Whether the file is one JSON value, and not one value a line."""
    first, second = lines.first_two(path, max_row_bytes)
    if first.startswith("["):
        return not second or _value(first) is None
    if not first.startswith("{"):
        return False
    value = _value(first)
    if second:
        return value is None and _value(second) is None and not _named_lines(path)
    if isinstance(value, dict) and value:
        return all(isinstance(inner, dict | list) for inner in value.values())
    return not _named_lines(path)


def _named_lines(path: Path) -> bool:
    return path.suffix.lower() in {".jsonl", ".ndjson"}


def _value(text: str) -> object:
    """The JSON value that is all of `text`; None where it is not one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
