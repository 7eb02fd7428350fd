"""Rows survive Parquet; what cannot be stored is refused by name."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_rows import NOON, ODD_TEXT, RUN, rows_of

from tasks.adapters.store.files.layout import FILE_COLUMNS, layout_of
from tasks.adapters.store.files.schema import DESCRIPTION, Column, arrow_schema, columns, from_arrow, to_arrow
from tasks.adapters.store.files.text import MARK, storable, unstorable
from tasks.domain.errors import BadInput, StoreError
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table
from tasks.domain.tables import TABLES


@pytest.mark.slow
@pytest.mark.parametrize("row_type", TABLES, ids=lambda kind: kind.__name__)
@settings(max_examples=20)  # of each of some sixty tables
@given(data=st.data())
def test_rows_come_back_from_parquet_unchanged(row_type: type[Any], data: st.DataObject) -> None:
    rows = tuple(data.draw(st.lists(rows_of(row_type), max_size=3)))
    file = io.BytesIO()
    pq.write_table(to_arrow(rows, row_type), file)
    assert from_arrow(pq.read_table(file), row_type) == rows


@given(ODD_TEXT)
def test_any_text_has_a_stored_form_and_comes_back(text: str) -> None:
    stored = storable(text)
    stored.encode("utf-8")
    assert unstorable(stored) == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("café 🎉", "café 🎉"),
        (r"literal \udc80 is left alone", r"literal \udc80 is left alone"),
        ("byte \udc80", MARK + r"byte \udc80"),
        (r"literal \udc80, byte " + "\udc80", MARK + r"literal \u005cudc80, byte \udc80"),
        (MARK, MARK + MARK),
    ],
)
def test_stored_form(text: str, stored: str) -> None:
    assert storable(text) == stored


@pytest.mark.parametrize("wrong", [{"owner": "nobody"}, {"folder": "nowhere"}, {"files": ("log",)}])
def test_a_table_is_declared_by_fields_that_it_has(wrong: dict[str, Any]) -> None:
    @dataclass(frozen=True, slots=True)
    class Sample:
        sample_id: str

    options = {"owner": "sample_id", **wrong}
    with pytest.raises(TypeError, match="has no field"):
        table(options.pop("owner"), **options)(Sample)


def test_a_class_that_is_not_declared_has_no_place_in_the_store() -> None:
    with pytest.raises(StoreError, match="Column is no table"):
        layout_of(Column)


def test_columns_that_name_kept_files_are_registered() -> None:
    found = {kind: tuple(c.name for c in columns(kind) if "under `files/`" in c.text) for kind in TABLES}
    assert {kind: names for kind, names in found.items() if names} == FILE_COLUMNS


PARSING = """
import ast
from tasks.domain import syntax

real, held = ast.parse, []

def parse(*args, **more):
    held.append(syntax._ONE_AT_A_TIME.locked())
    return real(*args, **more)

ast.parse = parse
from tasks.adapters.store.files.schema import arrow_schema
from tasks.domain.tables import TABLES

for row_type in TABLES:
    arrow_schema(row_type)
print(len(held) > 3, all(held))
"""


def test_sources_are_parsed_one_at_a_time() -> None:
    """Rows are written on several threads, and two that parse at once now and then end in a `SystemError`."""
    said = subprocess.run([sys.executable, "-c", PARSING], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["True", "True"], said.stderr


def test_docstrings_become_descriptions() -> None:
    schema = arrow_schema(CaseOutcome)
    assert schema.metadata[DESCRIPTION] == b"One test case in one run."
    assert schema.field("path").metadata[DESCRIPTION] == b"Test file that contains the case."
    assert not schema.field("run_key").nullable
    assert schema.field("duration_s").nullable


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"finished_at": datetime(2026, 11, 1)}, "finished_at"),
        ({"repo": None}, "repo"),
        ({"cases": 2**63}, "cases"),
        ({"status": "fine"}, "status"),
        ({"detail": b"bytes"}, "detail"),
    ],
)
def test_what_cannot_be_stored_is_named(changes: dict[str, Any], column: str) -> None:
    with pytest.raises(BadInput, match=rf"Run\.{column} cannot be stored"):
        to_arrow([replace(RUN, **changes)], Run)


def test_times_are_stored_in_utc() -> None:
    assert from_arrow(to_arrow([RUN], Run), Run)[0].finished_at.isoformat() == NOON.isoformat()


@dataclass(frozen=True)
class Grown:
    name: str
    note: str | None
    count: int = 7


@dataclass(frozen=True)
class Strict:
    name: str
    size: int


def test_a_missing_column_is_null_or_its_default() -> None:
    assert from_arrow(pa.table({"name": ["a"], "unknown": [1]}), Grown) == (Grown("a", None),)


def test_a_missing_column_that_must_be_there_is_an_error() -> None:
    with pytest.raises(StoreError, match=r"Strict\.size is missing"):
        from_arrow(pa.table({"name": ["a"]}), Strict)


def test_a_value_of_a_newer_version_is_an_error() -> None:
    table = to_arrow([RUN], Run)
    odd = table.set_column(table.schema.get_field_index("status"), "status", pa.array(["vanished"]))
    with pytest.raises(StoreError, match="vanished"):
        from_arrow(odd, Run)


def test_a_type_without_a_column_type_is_refused() -> None:
    @dataclass(frozen=True)
    class Bad:
        names: dict[str, str]

    with pytest.raises(TypeError, match="no column type"):
        columns(Bad)
