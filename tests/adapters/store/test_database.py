"""swt.duckdb: typed views over any store, whoever writes, and the files of sql/ in the right order."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import facts, run

from tasks.adapters.store.files.schema import from_arrow
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import build_views, ensure_views, query, selection
from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "swt.duckdb"


@pytest.fixture
def sql(tmp_path: Path) -> Path:
    (tmp_path / "sql" / "views").mkdir(parents=True)
    return tmp_path / "sql"


def add(sql: Path, name: str, text: str) -> None:
    path = sql / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
def test_an_empty_store_has_every_table_typed(root: Path, database: Path, sql: Path) -> None:
    build_views(str(root), database, sql)
    for row_type in TABLES:
        assert from_arrow(query(database, f"FROM {table_name(row_type)}"), row_type) == ()
    described = query(database, "SELECT column_type FROM (DESCRIBE run) WHERE column_name = 'finished_at'")
    assert described.column(0).to_pylist() == ["TIMESTAMP WITH TIME ZONE"]


@pytest.mark.slow
def test_views_say_what_reads_say(store: Store, root: Path, database: Path, sql: Path) -> None:
    store.write_run(run(1, status=RunStatus.INFRASTRUCTURE, cases=0))
    for number in (1, 1, 2, 3):
        store.write_run(run(number), *facts(run(number)))
    (root / store.write_run(run(4), *facts(run(4)))).unlink()
    build_views(str(root), database, sql)
    for _ in range(2):
        for row_type in TABLES:
            rows = from_arrow(query(database, f"FROM {table_name(row_type)}"), row_type)
            assert sorted(map(repr, rows)) == sorted(map(repr, store.read(row_type)))
        store.compact(grace_s=0)
    assert "_part" not in query(database, "FROM case_outcome").column_names


def test_new_rows_show_without_building_again(store: Store, root: Path, database: Path, sql: Path) -> None:
    build_views(str(root), database, sql)
    store.write_run(run(1), *facts(run(1)))
    assert query(database, "SELECT count(*) AS n FROM case_outcome").to_pylist() == [{"n": 2}]


@pytest.mark.slow
def test_the_database_is_read_while_a_writer_writes(store: Store, root: Path, database: Path, sql: Path) -> None:
    def write() -> None:
        for number in range(40):
            store.write_run(run(number), *facts(run(number)))

    build_views(str(root), database, sql)
    writer = threading.Thread(target=write)
    writer.start()
    with duckdb.connect(database, read_only=True) as connection:
        while writer.is_alive():
            found = connection.sql("SELECT count(*) FROM run JOIN case_outcome USING (run_key) GROUP BY run_key")
            assert {row[0] for row in found.fetchall()} <= {2}
            build_views(str(root), database, sql)
    writer.join()
    assert len(query(database, "FROM run")) == 40


def test_views_work_from_any_folder_and_odd_paths(tmp_path: Path, sql: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, database = tmp_path / "it's [1] *" / "store", tmp_path / "it's" / "swt.duckdb"
    store = Store(os.path.relpath(root))
    store.write_run(run(1), *facts(run(1)))
    build_views(os.path.relpath(root), database, sql)
    monkeypatch.chdir("/")
    assert len(query(database, "FROM case_outcome")) == 2


@pytest.mark.slow
def test_a_moved_store_needs_new_views_only(store: Store, root: Path, database: Path, sql: Path) -> None:
    store.write_run(run(1), *facts(run(1)))
    build_views(str(root), database, sql)
    moved = root.with_name("moved")
    shutil.move(root, moved)
    build_views(str(moved), database, sql)
    assert len(query(database, "FROM case_outcome")) == 2


@pytest.mark.slow
def test_the_file_is_made_anew_only_for_other_definitions(store: Store, root: Path, database: Path, sql: Path) -> None:
    def made() -> bool:
        before = database.stat().st_ino if database.exists() else 0
        ensure_views(str(root), database, sql)
        return database.stat().st_ino != before

    store.write_run(run(1))
    assert (made(), made()) == (True, False)
    add(sql, "views/x.sql", "-- One.\nCREATE OR REPLACE VIEW x AS SELECT 1 AS n;")
    assert (made(), made()) == (True, False)
    assert query(database, "FROM x").to_pylist() == [{"n": 1}]
    shutil.rmtree(root)
    assert not made()
    assert len(query(database, "FROM run")) == 0
    ensure_views(str(root) + "2", database, sql)
    assert made()
    database.write_bytes(b"no database")
    assert made()


def test_a_torn_file_does_not_stop_the_views(store: Store, root: Path, database: Path, sql: Path) -> None:
    store.write_run(run(1))
    (root / store.write_run(run(2))).write_bytes(b"torn")
    build_views(str(root), database, sql)
    assert len(query(database, "FROM run")) == 1
    assert len(list(root.rglob("*.torn"))) == 1


def test_files_of_other_versions_fit_in(store: Store, root: Path, database: Path, sql: Path) -> None:
    older, newer = (root / store.write_run(run(number), *facts(run(number))) for number in (1, 2))
    store.write_run(run(3), *facts(run(3)))
    pq.write_table(pq.read_table(older, partitioning=None).drop_columns(["cpu_s"]), older)
    grown = pq.read_table(newer, partitioning=None)
    pq.write_table(grown.append_column("colour", pa.array(["red"])), newer)
    build_views(str(root), database, sql)
    for _ in range(2):
        assert {row.run_key for row in store.read(Run)} == {run(number).run_key for number in (1, 2, 3)}
        assert query(database, "SELECT count(*) AS n, count(cpu_s) AS c FROM run").to_pylist() == [{"n": 3, "c": 0}]
        store.compact(grace_s=0)
    pack = next((root / "run").rglob("pack-*.parquet"))
    assert sorted(map(str, pq.read_table(pack, partitioning=None)["colour"].to_pylist())) == ["None", "None", "red"]
    assert len(store.read(CaseOutcome)) == 6


@pytest.mark.slow
def test_a_store_without_places_of_cases_still_answers(store: Store, root: Path, database: Path) -> None:
    """Outcomes from before places were recorded: cases are compared by their ids."""
    store.write_run(run(1), *facts(run(1)))
    (part,) = (root / "case_outcome").rglob("part-*.parquet")
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["place"]), part)
    build_views(str(root), database, Path(__file__).parents[3] / "sql")
    assert {row.place for row in store.read(CaseOutcome)} == {None}
    assert query(database, "SELECT count(*) AS n, count(place) AS p FROM case_outcome").to_pylist() == [
        {"n": 2, "p": 0}
    ]
    for view in ("case_pair", "paper", "golden_case", "audit_case_pair"):
        assert query(database, f"FROM {view}").to_pylist() == []


def test_sql_files_are_created_in_the_order_of_their_needs(root: Path, database: Path, sql: Path) -> None:
    add(sql, "views/a.sql", "-- Last by need.\n--\n-- more\n-- needs: b, twice\nCREATE OR REPLACE VIEW a AS FROM b;\n")
    add(sql, "views/b.sql", "-- Runs,\n-- counted.\n-- needs: run\nCREATE OR REPLACE VIEW b AS SELECT 1 n FROM run;")
    add(sql, "macros/twice.sql", "-- Two.\nCREATE OR REPLACE MACRO dbl(x) AS 2 * x;\nCREATE OR REPLACE MACRO c() AS 1;")
    add(
        sql,
        "tables/summed.sql",
        "-- Sum.\n-- needs: a\nCREATE OR REPLACE MACRO summed(k, j) AS TABLE SELECT k + j s;",
    )
    found = build_views(str(root), database, sql)
    names = [question.name for question in found]
    assert names.index("b") < names.index("a") < names.index("summed")
    by_name = {question.name: question for question in found}
    assert (by_name["b"].description, by_name["b"].kind, by_name["b"].parameters) == ("Runs, counted.", "views", "")
    assert (by_name["a"].description, by_name["a"].needs) == ("Last by need.", ("b", "twice"))
    assert (by_name["summed"].kind, by_name["summed"].parameters) == ("tables", "(k, j)")
    assert query(database, "SELECT dbl(4) AS x").to_pylist() == [{"x": 8}]
    assert query(database, "FROM summed(1, 2)").to_pylist() == [{"s": 3}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- needs: nobody\nCREATE OR REPLACE VIEW x AS SELECT 1;", "x.sql needs nobody"),
        ("-- needs: x\nCREATE OR REPLACE VIEW x AS SELECT 1;", "in a circle: x → x"),
        ("CREATE OR REPLACE VIEW y AS SELECT 1;", "x.sql does not define x"),
        ("CREATE TABLE x AS SELECT 1;", "is not a definition"),
        ("SELEKT", "x.sql is not SQL"),
        ("-- nothing", "x.sql holds no statement"),
        ("CREATE OR REPLACE VIEW x AS FROM undeclared;", "x.sql cannot be defined"),
    ],
)
def test_a_wrong_sql_file_is_named(root: Path, database: Path, sql: Path, text: str, message: str) -> None:
    add(sql, "views/x.sql", text)
    with pytest.raises(BadInput, match=message):
        build_views(str(root), database, sql)
    assert not list(database.parent.glob("*.duckdb*"))


def test_two_files_or_a_table_of_one_name_are_refused(sql: Path) -> None:
    add(sql, "views/run.sql", "CREATE OR REPLACE VIEW run AS SELECT 1;")
    with pytest.raises(BadInput, match="name of a table"):
        named_queries(sql)
    (sql / "views" / "run.sql").unlink()
    for folder in ("views", "tables"):
        add(sql, f"{folder}/x.sql", "CREATE OR REPLACE VIEW x AS SELECT 1;")
    with pytest.raises(BadInput, match="two files define x"):
        named_queries(sql)


def test_a_query_cannot_write_and_says_what_is_wrong(root: Path, database: Path, sql: Path) -> None:
    with pytest.raises(NotFound, match="there is no"):
        query(database, "FROM run")
    build_views(str(root), database, sql)
    with pytest.raises(BadInput, match="nothing_like_it"):
        query(database, "FROM nothing_like_it")
    with pytest.raises(BadInput, match="read-only"):
        query(database, "CREATE TABLE t AS SELECT 1")


@pytest.mark.slow
def test_the_projects_own_sql_builds(root: Path, database: Path) -> None:
    found = build_views(str(root), database, PROJECT / "sql")
    assert all(question.description for question in found)
    assert query(database, "FROM table2").num_rows == 0
    views, macros = "sql FROM duckdb_views()", "macro_definition FROM duckdb_functions()"
    stored = query(database, f"SELECT {views} UNION ALL SELECT {macros} WHERE NOT internal")
    bad = [text for text in stored.column(0).to_pylist() if text and '"if"(' in text]
    assert not bad, "DuckDB 2 stores if(…) in a form that 1.5 cannot read: write CASE"


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (selection("cell", {"n": [1, 2]}, ["n"]), [1, 2]),
        (selection("cell", {"name": [None, "b"]}, ["n"]), [1, 2]),
        (selection("cell", {"name": []}), []),
        (selection("cell", {"good": [True], "day": [date(2026, 1, 3)]}), [3]),
        (selection("above", arguments=(1, ("b", "it's"))), [2, 3]),
        (selection("above", arguments=(0, None)), []),
    ],
)
def test_a_selection_finds_the_rows_with_these_values(asked: str, rows: list[int]) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            """CREATE TABLE cell AS FROM (VALUES
                (1, NULL, true, DATE '2026-01-01'),
                (2, 'b', false, DATE '2026-01-02'),
                (3, 'it''s', true, DATE '2026-01-03')
            ) AS t(n, name, good, day);
            CREATE MACRO above(least, names) AS TABLE
                FROM cell WHERE n > least AND list_contains(names, name) ORDER BY n"""
        )
        assert [row[0] for row in connection.execute(asked).fetchall()] == rows
