"""A plain DuckDB on `swt.duckdb` reads on while other processes judge, merge and delete."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_materialized import TOLD, ran

from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views import materialized as judged
from tasks.adapters.store.views.database import build_views
from tasks.adapters.store.views.materialized import bring_up_to_date

READER = """
import sys, duckdb
database, asked, stop = sys.argv[1:]
asked_for = 0
import os
while not os.path.exists(stop):
    with duckdb.connect(database, read_only=True) as connection:
        rows = connection.execute(asked).fetchall()
    assert rows == [(12,)], rows
    asked_for += 1
print(asked_for)
"""
"""None of our code, as another program reads: every answer has all instances, and no file is missing."""
INSTANCES = tuple(f"i{number:02}" for number in range(12))
HOUR_S = 3600.0


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    (tmp_path / "sql" / "views").mkdir(parents=True)
    (tmp_path / "sql" / "views" / "told.sql").write_text(TOLD)
    return tmp_path / "sql"


@pytest.fixture
def full(store: Store, sql: Path, tmp_path: Path) -> Store:
    """Twelve judged instances, and the database of their views."""
    for number, instance in enumerate(INSTANCES):
        ran(store, number, instance)
    build_views(store.url, tmp_path / "x.duckdb", sql)
    return store


@contextmanager
def reading(tmp_path: Path, asked: str) -> Iterator[None]:
    """A reader in a loop; fails where one of its questions did."""
    stop = tmp_path / "stop"
    argv = [sys.executable, "-c", READER, str(tmp_path / "x.duckdb"), asked, str(stop)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        yield
        stop.touch()
        out, err = reader.communicate(timeout=60)
    assert reader.returncode == 0, err
    assert int(out) > 3


@pytest.mark.slow
def test_a_reader_finds_every_file_while_instances_are_judged_again(
    full: Store, sql: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged, "GRACE_S", 1.0)
    monkeypatch.setattr(judged, "MANY", 3)
    with reading(tmp_path, "SELECT count(*) FROM told"):
        until = time.monotonic() + 8
        number = 100
        while time.monotonic() < until:
            number += 1
            ran(full, number, INSTANCES[number % len(INSTANCES)])
            assert bring_up_to_date(full.url, sql) == 1


@pytest.mark.slow
def test_a_reader_finds_every_file_while_files_are_merged(full: Store, sql: Path, tmp_path: Path) -> None:
    with reading(tmp_path, "SELECT count(DISTINCT instance_key) FROM run JOIN case_outcome USING (run_key)"):
        until = time.monotonic() + 5
        number = 200
        while time.monotonic() < until:
            number += 1
            ran(full, number, INSTANCES[number % len(INSTANCES)])
            full.compact()
            full.gc()


def parts(store: Store, name: str) -> dict[str, int]:
    """File name of each part of a view → its size."""
    (folder,) = Path(store.url, "judged").glob(f"*/{name}")
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.name != judged.SEED}


def grow_older(store: Store, age_s: float, keep: set[str] = frozenset()) -> None:
    for path in Path(store.url, "judged").glob("*/*/part-*"):
        if path.name not in keep:
            moment = time.time() - age_s
            os.utime(path, (moment, moment))


def test_a_replaced_part_is_emptied_and_deleted_by_the_time_since_it_was_replaced(full: Store, sql: Path) -> None:
    """Not by its own age: a part of last month that was replaced a second ago is being read."""
    (first,) = parts(full, "told")
    size = parts(full, "told")[first]
    grow_older(full, 24 * HOUR_S)
    for number, instance in enumerate(INSTANCES, 300):
        ran(full, number, instance)
    bring_up_to_date(full.url, sql)
    assert parts(full, "told")[first] == size
    second = next(name for name in parts(full, "told") if name != first)

    grow_older(full, HOUR_S)
    ran(full, 400, "other")
    bring_up_to_date(full.url, sql)
    assert parts(full, "told")[first] < size, "its rows are gone and the file is there"
    assert first in parts(full, "judgement")

    grow_older(full, 25 * HOUR_S)
    ran(full, 401, "other")
    bring_up_to_date(full.url, sql)
    assert first not in parts(full, "told")
    assert second in parts(full, "told")
    assert first not in parts(full, "judgement")


def test_gc_deletes_replaced_parts_past_the_grace_period(full: Store, sql: Path) -> None:
    (first,) = parts(full, "told")
    for number, instance in enumerate(INSTANCES, 300):
        ran(full, number, instance)
    bring_up_to_date(full.url, sql)
    assert full.gc() == ()
    grow_older(full, 25 * HOUR_S)
    assert {path.rpartition("/")[2] for path in full.gc()} == {first}
    assert bring_up_to_date(full.url, sql) == 0
