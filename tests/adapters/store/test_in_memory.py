"""Questions over rows in memory say what the views of the database file say."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_rows import facts, run

from flows.interface.settings import PROJECT
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import build_views, query
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.errors import BadInput

COUNTED = """-- Runs and their cases.
-- needs: run, case_outcome, doubled
CREATE OR REPLACE VIEW counted AS
SELECT run_key, double(count(*)) AS cases FROM run JOIN case_outcome USING (run_key) GROUP BY run_key;
"""
DOUBLED = "-- Twice.\nCREATE OR REPLACE MACRO double(x) AS 2 * x;"
UNUSED = "-- Nothing that is there.\n-- needs: run\nCREATE OR REPLACE VIEW unused AS SELECT no_such_column FROM run;"
ASKED = "FROM counted ORDER BY run_key"


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    for name, text in (("views/counted", COUNTED), ("macros/doubled", DOUBLED)):
        path = tmp_path / "sql" / f"{name}.sql"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "sql"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs with facts, one of them written twice, and facts of a run that is not there."""
    store = Store(str(tmp_path / "store"))
    for number in (1, 1, 2):
        store.write_run(run(number), *facts(run(number)))
    (tmp_path / "store" / store.write_run(run(3), *facts(run(3)))).unlink()
    return store


def test_answers_are_those_of_the_views(store: Store, sql: Path, tmp_path: Path) -> None:
    tables = ("FROM run ORDER BY ALL", "FROM case_outcome ORDER BY ALL")
    found = answers(store.url, sql, ("counted",), (ASKED, *tables))
    assert [row["run_key"] for row in found[0].to_pylist()] == sorted(run(number).run_key for number in (1, 2))
    build_views(store.url, tmp_path / "x.duckdb", sql)
    for statement, answer in zip((ASKED, *tables), found, strict=True):
        assert answer.to_pylist() == query(tmp_path / "x.duckdb", statement).to_pylist()


def test_only_what_is_needed_is_defined(store: Store, sql: Path) -> None:
    (sql / "views" / "unused.sql").write_text(UNUSED)
    assert answers(store.url, sql, ("counted",), (ASKED,))[0].num_rows == 2
    with pytest.raises(BadInput, match=r"unused\.sql cannot be defined"):
        answers(store.url, sql, ("unused",), ("FROM unused",))


def test_a_torn_file_is_moved_aside(store: Store, sql: Path, tmp_path: Path) -> None:
    (tmp_path / "store" / store.write_run(run(2))).write_bytes(b"torn")
    assert answers(store.url, sql, ("counted",), (ASKED,))[0].num_rows == 1
    assert len(list((tmp_path / "store").rglob("*.torn"))) == 1


def test_what_an_evaluation_asks_needs_no_more_than_it_says(tmp_path: Path) -> None:
    names = ("verdict", "submission", "guard_outcome", "table2")
    statements = tuple(f"FROM {name}" for name in names)
    assert [table.num_rows for table in answers(str(tmp_path), PROJECT / "sql", names, statements)] == [0] * len(names)
