"""What exists is documented, and what is documented exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import duckdb
import pytest

from tasks.adapters.store.views.database import empty_database
from tasks.adapters.store.views.dictionary import dictionary
from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain import errors

ROOT = Path(__file__).resolve().parents[1]
ROBUSTNESS = (ROOT / "docs" / "robustness.md").read_text("utf-8")
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SwtError)]


def test_every_error_slug_has_a_section() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    assert [kind.slug for kind in ERRORS if f"\n## {kind.slug}\n" not in text] == []


def test_every_question_is_in_the_list() -> None:
    text = (ROOT / "sql" / "README.md").read_text()
    assert [path.stem for path in (ROOT / "sql" / "tables").glob("*.sql") if f"`{path.stem}" not in text] == []


def test_every_package_and_command_is_in_the_readme() -> None:
    from flows.interface.cli import app

    text = (ROOT / "README.md").read_text()
    commands = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    groups = [group.name for group in app.registered_groups]
    assert not [name for name in [*commands, *groups] if f"swt {name}" not in text]


def test_the_data_dictionary_is_current() -> None:
    text = (ROOT / "docs" / "data-dictionary.md").read_text("utf-8")
    assert text == dictionary(), "run: python -m tasks.adapters.store.views.dictionary docs/data-dictionary.md"


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", ROBUSTNESS, re.S))
def test_queries_of_the_robustness_page_run(query: str) -> None:
    with duckdb.connect() as connection:
        empty_database(connection, named_queries(ROOT / "sql"))
        assert connection.sql(query).fetchall() == []


@pytest.mark.parametrize("name", sorted(set(re.findall(r"swt query (\w+)", ROBUSTNESS))))
def test_questions_of_the_robustness_page_exist(name: str) -> None:
    assert (ROOT / "sql" / "tables" / f"{name}.sql").is_file()
