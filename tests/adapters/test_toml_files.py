"""TOML files with declared types: what an error says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, PositiveInt, Strict

from tasks.adapters.toml_files import Filled, Texts, TomlTable, checked, read_toml
from tasks.domain.errors import BadInput, NotFound


class Shelf(TomlTable):
    name: Filled
    size: PositiveInt | None = Field(None, alias="width")
    labels: Texts = ()


class Library(TomlTable):
    shelves: Annotated[tuple[Shelf, ...], Strict(False)] = ()
    rooms: dict[str, Shelf] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shelves = 1", "l.toml: shelves is 1: it should be a list: [...], or [[NAME]] for tables"),
        ("[[shelves]]", "l.toml: shelves 1: name is missing"),
        ('[[shelves]]\nname = " "', "l.toml: shelves 1: name is ' ': it should not be empty"),
        ("[rooms.'4.1']\nname = 3", "l.toml: rooms.4.1.name is 3: it should be text in quotes"),
        ("[rooms.a]\nname = 'b'\nwidth = true", "l.toml: rooms.a.width is True: it should be a valid integer"),
        ("[rooms.a]\nname = 'b'\nsize = 1", "l.toml: rooms.a has size; known keys are labels, name, width"),
        ("[rooms.a]\nname = 'b'\nlabels = ['c', 4]", "l.toml: rooms.a.labels 2 is 4: it should be text in quotes"),
        ("[rooms]\na = 1\nb = 2", "l.toml: rooms.a is 1: it should be a table (and 1 more)"),
    ],
)
def test_an_error_names_file_table_key_and_value(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "l.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        checked(Library, read_toml(tmp_path / "l.toml"), "l.toml", "see the documents")
    assert str(caught.value) == said
    assert caught.value.hint == "see the documents"


def test_files_that_are_missing_or_no_toml(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_toml(tmp_path / "l.toml")
    (tmp_path / "l.toml").write_text("[")
    with pytest.raises(BadInput, match=r"l\.toml is not TOML"):
        read_toml(tmp_path / "l.toml")
