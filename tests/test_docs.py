"""What exists is documented, and what is documented exists."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tasks.adapters.store.dictionary import dictionary
from tasks.domain import errors

ROOT = Path(__file__).resolve().parents[1]
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SwtError)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_slug_has_a_section(kind: type[errors.SwtError]) -> None:
    assert f"\n## {kind.slug}\n" in (ROOT / "docs" / "errors.md").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "sql" / "tables").glob("*.sql")), ids=lambda path: path.stem)
def test_every_question_is_in_the_list(path: Path) -> None:
    assert f"`{path.stem}" in (ROOT / "sql" / "README.md").read_text()


def test_every_package_and_command_is_in_the_readme() -> None:
    from flows.cli import app

    text = (ROOT / "README.md").read_text()
    commands = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    groups = [group.name for group in app.registered_groups]
    assert not [name for name in [*commands, *groups] if f"swt {name}" not in text]


def test_the_data_dictionary_is_current() -> None:
    text = (ROOT / "docs" / "data-dictionary.md").read_text("utf-8")
    assert text == dictionary(), "run: python -m tasks.adapters.store.dictionary docs/data-dictionary.md"
