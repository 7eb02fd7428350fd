"""Rows in memory: a file is read once while it stays the same, and says what DuckDB would read in it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import facts, run

from tasks.adapters.store.files.disk import Entry
from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.parquet_format import data_files
from tasks.adapters.store.tables import cache as held
from tasks.adapters.store.tables import reading
from tasks.adapters.store.tables.cache import HeldFiles
from tasks.adapters.store.tables.reading import source_in
from tasks.adapters.store.tables.store import Store
from tasks.domain.run import Run

OLD = Entry("run/a.parquet", 9, 1000.0, 1000.0, 1)


class Counted:
    """Reads that are counted."""

    def __init__(self, rows: int = 1) -> None:
        self.times = 0
        self.rows = rows

    def __call__(self) -> pa.Table:
        self.times += 1
        return pa.table({"a": pa.array(range(self.rows), pa.int64())})


@pytest.mark.parametrize(
    ("other", "reads"),
    [
        (OLD, 1),
        (OLD._replace(inode=2), 2),
        (OLD._replace(changed=1001.0), 2),
        (OLD._replace(size=8), 2),
        (OLD._replace(path="run/b.parquet"), 2),
    ],
)
def test_a_file_is_read_once_while_it_stays_the_same(other: Entry, reads: int) -> None:
    files, read = HeldFiles(budget=1000), Counted()
    assert files.table("here", OLD, read) == files.table("here", other, read)
    assert read.times == reads
    files.table("elsewhere", OLD, read)
    assert read.times == reads + 1


def test_a_file_that_a_later_one_may_look_like_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files, read = HeldFiles(budget=1000), Counted()
    monkeypatch.setattr(held, "shared_time_ns", lambda: round((OLD.changed + 1) * 1e9))
    files.table("here", OLD, read)
    files.table("here", OLD, read)
    assert read.times == 2


def test_files_that_were_used_longest_ago_go_first() -> None:
    files, reads = HeldFiles(budget=2 * 8 * 100), {name: Counted(100) for name in "abc"}
    for name in "abacabc":
        files.table("here", OLD._replace(path=name), reads[name])
    assert {name: read.times for name, read in reads.items()} == {"a": 1, "b": 2, "c": 2}
    large = Counted(1000)
    for _ in range(2):
        files.table("here", OLD, large)
    assert large.times == 2, "what is larger than the budget is not held"


def older_file(store: Store, root: Path) -> None:
    """A run of a version that knew a column less and had one more."""
    path = root / store.write_run(run(1), *facts(run(1)))
    table = pq.read_table(path, partitioning=None).drop_columns(["image"])
    pq.write_table(table.append_column("gone", pa.array(["x"])), path)


@pytest.mark.parametrize("small", [0, 1 << 30], ids=["by DuckDB", "held"])
def test_small_and_large_files_say_the_same(
    store: Store, root: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    older_file(store, root)
    store.write_run(replace(run(2), image="i"), *facts(run(2)))
    monkeypatch.setattr(reading, "SMALL", small)
    files = data_files(store.disk, Run)
    with connected(store=store.url) as connection:
        found = connection.sql(
            f"FROM {source_in(connection, store.disk, Run, files)} ORDER BY run_key"
        ).to_arrow_table()
    assert sorted(found.column("image").to_pylist(), key=str) == [None, "i"]
    assert sorted(map(os.path.basename, found.column("filename").to_pylist())) == [entry.name for entry in files]
    assert found.column("finished_at").type == pa.timestamp("us", "UTC")
