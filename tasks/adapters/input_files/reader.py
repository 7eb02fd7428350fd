"""One function, `read_rows`, for every form in which rows arrive. The form is told by content more than by suffix.

| form | looks like |
| --- | --- |
| JSON lines | one object a line |
| JSON list | `[{…}, {…}]`, on one line or many |
| JSON object of rows | `{"django__django-1": {…}, …}` |
| JSON object of columns | `{"repo": ["…"], …}`, or `{"repo": {"0": "…"}, …}` |
| one JSON object | `{"instance_id": "…", …}`, on one line or many |
| page of the Hugging Face rows API | `{"features": […], "rows": [{"row": {…}, …}], …}` |
| Parquet | starts with `PAR1` |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tasks.adapters.files import regular_file
from tasks.adapters.input_files import document, lines
from tasks.adapters.input_files import parquet_rows as parquet
from tasks.adapters.input_files.raw import MAX_ROW_BYTES, RawRow
from tasks.domain.errors import BadInput

_FOREIGN = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_PARQUET = b"PAR1"
_BEGIN = 4096
"""Bytes that are looked at."""
_CONTROLS = bytes(byte for byte in range(32) if chr(byte) not in "\t\n\r")
_TEXT = 0.95
"""The share of its bytes that are no control characters, of any text."""


def read_rows(path: Path, *, max_row_bytes: int = MAX_ROW_BYTES) -> Iterator[RawRow]:
    """Every row of the file in its order, broken ones included: those carry a problem.

    JSON lines and Parquet are read piece by piece; a JSON document is held in memory as text. Raises
    `NotFound` where there is no file, and `BadInput` where the file as a whole cannot be read.
    """
    if _head(path) == _PARQUET:
        return parquet.read(path)
    if _is_document(path, max_row_bytes):
        return document.read(path, max_row_bytes)
    return lines.read(path, max_row_bytes)


def _head(path: Path) -> bytes:
    """The first four bytes."""
    with regular_file(path, hint="give the path of a JSON lines, JSON or Parquet file").open("rb") as handle:
        begin = handle.read(_BEGIN)
    for magic, what in _FOREIGN.items():
        if begin.startswith(magic):
            raise BadInput(f"{path} is {what}", hint="unpack it, or save it as UTF-8, and try again")
    if path.suffix.lower() == ".parquet" and not begin.startswith(_PARQUET):
        raise BadInput(f"{path} is no Parquet file", hint="is it whole? copy it again")
    # One broken row among good ones is named by its line; a file that is no text at all would be as many lines.
    if not begin.startswith(_PARQUET) and len(begin.translate(None, _CONTROLS)) < _TEXT * len(begin):
        raise BadInput(f"{path} is binary, and neither JSON nor Parquet", hint="is it the file that you meant?")
    return begin[: len(_PARQUET)]


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
        return document.is_page(value) or all(isinstance(inner, dict | list) for inner in value.values())
    return not _named_lines(path)


def _named_lines(path: Path) -> bool:
    return path.suffix.lower() in {".jsonl", ".ndjson"}


def _value(text: str) -> object:
    """The JSON value that is all of `text`; None where it is not one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
