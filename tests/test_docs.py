"""What exists is documented, and what is documented exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import duckdb
import pytest

from tasks.adapters.store.views.database import empty_database
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


@pytest.mark.slow
@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", ROBUSTNESS, re.S))
def test_queries_of_the_robustness_page_run(query: str) -> None:
    with duckdb.connect() as connection:
        empty_database(connection, named_queries(ROOT / "sql"))
        assert connection.sql(query).fetchall() == []


@pytest.mark.parametrize("name", sorted(set(re.findall(r"swt query (\w+)", ROBUSTNESS))))
def test_questions_of_the_robustness_page_exist(name: str) -> None:
    assert (ROOT / "sql" / "tables" / f"{name}.sql").is_file()


FOLDERS = ("docs", "benchmarks", "sql", "flows", "tasks", "tests")
PAGES = [*sorted(ROOT.glob("*.md")), *(page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (page.parent / target).exists()] == []


BENCHMARK = re.compile(r"benchmarks[./](\w+)(?!\w|/)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_benchmarks_that_a_page_names_exist_or_are_marked_as_removed(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if "†" not in line]
    named = {name for line in lines for name in BENCHMARK.findall(line)} - {"README", "hacks", "inside"}
    if page.name != "CHANGELOG.md":
        assert [name for name in sorted(named) if not (ROOT / "benchmarks" / f"{name}.py").is_file()] == []
