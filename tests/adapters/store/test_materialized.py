"""Rows that follow from runs are made once for each instance, and again where the runs or the definitions change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_rows import facts, run

from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views import batches
from tasks.adapters.store.views.database import build_views, ensure_views, query
from tasks.adapters.store.views.in_memory import answers
from tasks.adapters.store.views.materialized import bring_up_to_date, differences
from tasks.domain.names import InstanceKey

TOLD = """-- How many cases an instance has in its runs.
-- kept: beside the runs
-- needs: run, case_outcome
CREATE OR REPLACE VIEW told AS
SELECT instance_key, count(*) AS cases FROM run JOIN case_outcome USING (run_key) GROUP BY instance_key;
"""
LARGEST = "-- The most cases.\n-- needs: told\nCREATE OR REPLACE VIEW largest AS SELECT max(cases) AS cases FROM told;"
ASKED = "FROM told ORDER BY ALL"


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    (tmp_path / "sql" / "views").mkdir(parents=True)
    (tmp_path / "sql" / "views" / "told.sql").write_text(TOLD)
    (tmp_path / "sql" / "views" / "largest.sql").write_text(LARGEST)
    return tmp_path / "sql"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "x.duckdb"


def ran(store: Store, number: int, instance: str, **changes: Any) -> None:
    """A run of an instance with its facts."""
    row = replace(run(number, minute=number), instance_key=InstanceKey(instance), **changes)
    store.write_run(row, *facts(row))


def told(database: Path) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in query(database, ASKED).to_pylist()]


def test_only_what_changed_is_judged(store: Store, sql: Path, database: Path) -> None:
    for number, instance in enumerate(("a", "b", "b")):
        ran(store, number, instance)
    assert bring_up_to_date(store.url, sql) == 2
    assert bring_up_to_date(store.url, sql) == 0
    ran(store, 7, "a")
    assert bring_up_to_date(store.url, sql) == 1
    build_views(store.url, database, sql)
    assert told(database) == [("a", 4), ("b", 4)]
    (answer,) = answers(store.url, sql, ("largest",), ("FROM largest",))
    assert answer.to_pylist() == [{"cases": 4}]


@pytest.mark.slow
def test_another_definition_is_judged_anew_and_a_remark_is_none(store: Store, sql: Path, database: Path) -> None:
    ran(store, 1, "a")
    ensure_views(store.url, database, sql)
    (sql / "views" / "told.sql").write_text("-- A remark.\n" + TOLD)
    assert bring_up_to_date(store.url, sql) == 0
    (sql / "views" / "told.sql").write_text(TOLD.replace("count(*)", "10 * count(*)"))
    ensure_views(store.url, database, sql)
    assert told(database) == [("a", 20)]


def test_compaction_changes_nothing(store: Store, sql: Path) -> None:
    for number in range(3):
        ran(store, number, "a")
    assert bring_up_to_date(store.url, sql) == 1
    store.compact(grace_s=0)
    assert bring_up_to_date(store.url, sql) == 0
    ran(store, 7, "b")
    assert bring_up_to_date(store.url, sql) == 1
    (answer,) = answers(store.url, sql, ("told",), (ASKED,))
    assert answer.to_pylist() == [{"instance_key": "a", "cases": 6}, {"instance_key": "b", "cases": 2}]


@pytest.mark.slow
def test_many_parts_become_one(store: Store, sql: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_INSTANCES", 1)
    for number in range(30):
        ran(store, number, f"i{number:02}")
    seen: list[tuple[int, int]] = []
    assert bring_up_to_date(store.url, sql, lambda *counts: seen.append(counts)) == 30
    assert seen == [(done, 30) for done in range(1, 31)]
    build_views(store.url, database, sql)
    assert told(database) == [(f"i{number:02}", 2) for number in range(30)]
    assert len(query(database, "SELECT DISTINCT _part FROM judgement")) == 1


def test_a_share_is_judged_again_and_a_difference_is_found(store: Store, sql: Path, tmp_path: Path) -> None:
    def misjudged() -> list[str]:
        return [one.where for one in differences(store.url, sql, share=1.0, at_least=1, draw=1)]

    ran(store, 1, "a")
    ran(store, 2, "b", cases=1)
    assert misjudged() == []
    bring_up_to_date(store.url, sql)
    assert misjudged() == []
    (kept,) = (path for path in (tmp_path / "store" / "judged").glob("*/told/*") if "empty" not in path.name)
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(kept).to_pylist()
    rows[0]["cases"] += 1
    pq.write_table(pa.Table.from_pylist(rows), kept)
    assert misjudged() == [f"told of {rows[0]['instance_key']}"]
