"""What `swt query` lists, and what it says where nothing can be stored."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.interface.commands.queries import ask, listing, rebuild_views
from flows.interface.settings import Settings
from tasks.adapters.store.views.database import query
from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain.errors import StoreError

LISTS = (
    "from flows.interface.commands.queries import listing; from flows.interface.settings import Settings; "
    "listing(Settings(), everything=True)"
)


def test_questions_come_first_and_the_rest_when_it_is_asked_for() -> None:
    short, long = (listing(Settings(), everything=everything) for everything in (False, True))
    names = [line.split()[0] for line in short.splitlines() if line.startswith("  ")]
    assert short.startswith("questions\n  ability ")
    assert "golden_case" not in names
    assert {"table2", "paper"} < set(names)
    everything = {line.split()[0] for line in long.splitlines() if line.startswith("  ")}
    assert everything == {question.name for question in named_queries(Settings().sql)}


def test_listing_needs_neither_duckdb_nor_arrow() -> None:
    loaded = f"{LISTS}; import sys; print([one for one in ('duckdb', 'pyarrow', 'prefect') if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("place", ["store", "database"])
def test_a_place_that_cannot_be_made_is_named(place: str, tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), database=tmp_path / "swt.duckdb", cache=tmp_path / "cache")
    below = Path("/proc/none/below")  # where not even root can make a folder
    wrong = replace(settings, store=str(below)) if place == "store" else replace(settings, database=below)
    with pytest.raises(StoreError, match="cannot be made") as caught:
        rebuild_views(wrong)
    assert f"SWT_{place.upper()}" in caught.value.hint


@pytest.mark.slow
def test_an_answer_holds_neither_formulas_nor_commands_to_a_terminal(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), database=tmp_path / "swt.duckdb", cache=tmp_path / "cache")
    hostile = "SELECT '=HYPERLINK(1)' AS method, chr(27) || '[2J' AS reason, -1 AS number"
    table, csv = io.BytesIO(), io.BytesIO()
    ask(settings, hostile, "table", table)
    ask(settings, hostile, "csv", csv)
    assert b"\\x1b[2J" in table.getvalue()
    assert b"\x1b" not in table.getvalue()
    assert csv.getvalue().splitlines()[1].startswith(b"'=HYPERLINK(1),")
    assert csv.getvalue().endswith(b",-1\n")


@pytest.mark.slow
def test_csv_has_lists_as_json_and_nothing_for_null(settings: Settings) -> None:
    out = io.BytesIO()
    ask(settings, "SELECT 1 AS n, ['a', 'b'] AS l, true AS t UNION ALL SELECT NULL, NULL, NULL", "csv", out)
    assert out.getvalue() == b'n,l,t\n1,"[""a"", ""b""]",True\n,,\n'


@pytest.mark.slow
def test_models_are_a_table_after_rebuilding_views(settings: Settings) -> None:
    rebuild_views(settings)
    found = query(settings.database, "SELECT cutoff FROM model_fact WHERE model = 'claude-3-haiku-20240307'")
    assert found["cutoff"].to_pylist() == [datetime(2023, 9, 1, tzinfo=UTC)]
