"""Parquet files of rows, a small batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.adapters.input_files.raw import RawRow
from tasks.domain.errors import BadInput

_BATCH = 64


def read(path: Path) -> Iterator[RawRow]:
    """The rows with their position, from 1. Text that is not UTF-8 comes as bytes. Raises `BadInput` on a torn file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                for values in _values(batch):
                    number += 1
                    yield RawRow(number, values)
    except (pa.ArrowException, OSError) as error:
        where = f"after row {number}" if number else "at all"
        raise BadInput(f"{path} cannot be read {where}: {error}", hint="is the file whole? copy it again") from error


def _values(batch: Any) -> list[dict[str, object]]:
    """The rows of a record batch; where some text is not UTF-8, all its text columns as bytes."""
    try:
        rows: list[dict[str, object]] = batch.to_pylist()
    except UnicodeDecodeError:
        rows = _as_bytes(batch).to_pylist()
    return rows


def _as_bytes(batch: Any) -> Any:
    import pyarrow as pa

    def cast(column: Any) -> Any:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        return (
            column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
            if is_text
            else column
        )

    return pa.RecordBatch.from_arrays([cast(column) for column in batch.columns], names=batch.schema.names)
