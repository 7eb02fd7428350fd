"""The generated documentation is current, and provenance says which commit wrote a row."""

from __future__ import annotations

import subprocess
from pathlib import Path

from store_rows import NOON

from tasks.adapters.store.dictionary import dictionary
from tasks.adapters.store.provenance import PROJECT, provenance
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES


def test_the_data_dictionary_is_current() -> None:
    text = (PROJECT / "docs" / "data-dictionary.md").read_text("utf-8")
    assert text == dictionary(), "run: python -m tasks.adapters.store.dictionary docs/data-dictionary.md"


def test_every_table_and_enum_is_in_it() -> None:
    text = dictionary()
    assert all(f"\n## {table_name(row_type)}\n" in text for row_type in TABLES)
    assert "One of `none`, `golden`, `candidate`." in text


def test_provenance_names_commit_version_and_settings() -> None:
    one = provenance(NOON, NOON, {"repos": ("a", "b")})
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(PROJECT), capture_output=True, text=True, check=False)
    assert one.project_commit == head.stdout.strip()
    assert one.project_version
    assert one.config_hash == provenance(NOON, NOON, {"repos": ["a", "b"]}).config_hash
    assert one.config_hash != provenance(NOON, NOON, {"repos": ["a"]}).config_hash
