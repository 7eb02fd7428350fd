"""The generated data dictionary is complete, and provenance says which commit wrote a row."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from store_rows import NOON

from tasks.adapters.store.files.provenance import PROJECT, provenance
from tasks.adapters.store.views.comments import said_of
from tasks.adapters.store.views.database import MADE_FROM, build_views, query
from tasks.adapters.store.views.dictionary import dictionary
from tasks.adapters.store.views.headers import body, leading_comments
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES


def sections(text: str) -> dict[str, list[str]]:
    """Name of each table or view → the lines of its section."""
    parts = [part.splitlines() for part in text.split("\n## ")[1:]]
    return {name: lines for name, *lines in parts}


@pytest.mark.slow
def test_every_table_and_view_has_a_description_and_columns(tmp_path: Path) -> None:
    text = dictionary(PROJECT / "sql")
    found = sections(text)
    build_views(str(tmp_path / "store"), tmp_path / "swt.duckdb", PROJECT / "sql")
    views = query(tmp_path / "swt.duckdb", "SELECT view_name FROM duckdb_views() WHERE NOT internal")
    ours = {MADE_FROM, "judgement"}  # of the database file alone
    assert set(found) == (set(views["view_name"].to_pylist()) - ours) | set(map(table_name, TABLES))
    assert [name for name, (_, description, *_) in found.items() if not description.strip()] == []
    assert [name for name, lines in found.items() if not any(line.startswith("| `") for line in lines)] == []
    assert [name for name in found if f"- [`{name}`](#{name}): " not in text] == []
    assert "One of `none`, `golden`, `candidate`." in text
    assert "| `S_low` | DOUBLE | Wilson's 95 % interval of S" in text


@pytest.mark.slow
def test_every_view_of_a_database_and_every_column_has_its_comment(tmp_path: Path) -> None:
    database = tmp_path / "swt.duckdb"
    build_views(str(tmp_path / "store"), database, PROJECT / "sql")
    bare = "SELECT view_name FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = ''"
    assert query(database, bare).to_pylist() == []
    bare = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''"
    tables = {*map(table_name, TABLES), MADE_FROM}
    left = [row for row in query(database, bare).to_pylist() if row["table_name"] not in tables]
    assert left == [], "say in the header of the file what the column means: `-- name  meaning`"
    asked = "SELECT comment FROM duckdb_columns() WHERE table_name = '{}' AND column_name = '{}'"
    assert query(database, asked.format("table2", "S")).to_pylist() == [{"comment": "in %, solved"}]
    run_key = query(database, asked.format("settled_run", "run_key")).to_pylist()
    assert run_key == [{"comment": "the run whose outcomes count: untraced before traced, then the latest"}]


def test_a_header_names_columns_in_two_ways() -> None:
    header = """\
-- What is asked?
--
-- One row per thing. low, high: an interval, in %. `n`: how many; left: the rest. Further words.
-- solved      some case passes,
--     and no case fails
-- …_a, why    as above
-- needs: run
"""
    assert said_of(body(leading_comments(header + "SELECT 1"))) == {
        "low": "an interval, in %",
        "high": "an interval, in %",
        "n": "how many",
        "left": "the rest",
        "solved": "some case passes, and no case fails",
    }


def test_provenance_names_commit_version_and_settings() -> None:
    one = provenance(NOON, NOON, {"repos": ("a", "b")})
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(PROJECT), capture_output=True, text=True, check=False)
    assert one.project_commit == head.stdout.strip()
    assert one.project_version
    assert one.config_hash == provenance(NOON, NOON, {"repos": ["a", "b"]}).config_hash
    assert one.config_hash != provenance(NOON, NOON, {"repos": ["a"]}).config_hash
