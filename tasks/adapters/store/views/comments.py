"""Derives the meaning of each view and column from the headers of `sql/`, for database comments and the dictionary.

A header describes a column in one of two ways, after its first paragraph:

    -- n: instances that count. low, high: Wilson's 95 % interval.
    -- measured   every run that is needed is there

A column without a description inherits it from the column of the same name in a source of the view. The first sources
are references ("Columns as in `paper`"), then the needs, in order; the last are the docstrings of the tables. Each
meaning is therefore written in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from tasks.adapters.store.files.schema import columns
from tasks.adapters.store.tables.latest import literal, quoted
from tasks.adapters.store.views.headers import body, leading_comments
from tasks.adapters.store.views.sql_files import SqlFile, views_of
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

_NAMES = r"`?\w+`?(?:(?:, | and | … )`?\w+`?)*"
_PROSE = re.compile(rf"(?:^|(?<=[.;:,] ))({_NAMES}): ")
_ALIGNED = re.compile(rf"({_NAMES})\s{{2,}}(?=\S)")
_REFERENCE = re.compile(r"[Cc]olumns? (?:as in|of) `(\w+)`")
_SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class ViewComment:
    """A view that `sql/` defines, with the meaning of its columns."""

    name: str
    kind: str
    text: str
    columns: Mapping[str, tuple[str, str]]
    """Column name → DuckDB type and meaning; the meaning may be empty."""


def view_comments(connection: duckdb.DuckDBPyConnection, questions: Sequence[SqlFile]) -> tuple[ViewComment, ...]:
    """Return the comments of every view of these files, which must be defined on the connection."""
    texts = _Texts({question.name: question for question in questions})
    found = _columns_of(connection)
    return tuple(
        ViewComment(
            name=name,
            kind=question.kind,
            text=question.description,
            columns={column: (kind, texts.of(question.name, column)) for column, kind in found[name].items()},
        )
        for question in questions
        for name in views_of(question)
    )


def statements(comments: Sequence[ViewComment]) -> str:
    """Return the comments as SQL statements."""
    lines = [f"COMMENT ON VIEW {one.name} IS {literal(one.text)};" for one in comments]
    lines += [
        f"COMMENT ON COLUMN {one.name}.{quoted(column)} IS {literal(text)};"
        for one in comments
        for column, (_, text) in one.columns.items()
        if text
    ]
    return "\n".join(lines)


def said_of(lines: Iterable[str]) -> dict[str, str]:
    """Return the meaning of each name that a header describes, in either way."""
    found: dict[str, str] = {}
    prose: list[str] = []
    names: list[str] = []
    for line in lines:
        if match := _ALIGNED.match(line):
            names = _split(match[1])
            found |= dict.fromkeys(names, line[match.end() :])
        elif names and line.startswith("  "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
            prose.append(line)
    text = " ".join(prose)
    places = list(_PROSE.finditer(text))
    for place, following in zip(places, [*places[1:], None], strict=False):
        said = text[place.end() : following.start() if following else None]
        found |= dict.fromkeys(_split(place[1]), _SENTENCE.split(said)[0].strip(" .;,"))
    return found


def _split(names: str) -> list[str]:
    return [name.strip("` ") for name in re.split(r", | and | … ", names)]


@dataclass(frozen=True, slots=True)
class _Texts:
    questions: Mapping[str, SqlFile]
    tables: Mapping[str, Mapping[str, str]] = field(
        default_factory=lambda: {table_name(one): {c.name: c.text for c in columns(one)} for one in TABLES}
    )
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    headers: dict[str, tuple[dict[str, str], tuple[str, ...]]] = field(default_factory=dict)

    def of(self, name: str, column: str) -> str:
        """Return the meaning of a column of a table or of an object that a file defines; empty if no source has one."""
        if name in self.tables:
            return self.tables[name].get(column, "")
        if (name, column) not in self.known:
            self.known[name, column] = ""
            said, sources = self._header(name)
            found = (self.of(source, column) for source in sources)
            self.known[name, column] = said.get(column) or next(filter(None, found), "")
        return self.known[name, column]

    def _header(self, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
        if name not in self.headers:
            question = self.questions[name]
            lines = body(leading_comments(question.path.read_text("utf-8")))
            referred = [
                one for one in _REFERENCE.findall(" ".join(lines)) if one in self.questions or one in self.tables
            ]
            self.headers[name] = said_of(lines), (*referred, *question.needs)
        return self.headers[name]


def _columns_of(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return the columns of each table or view in order, with their types."""
    found: dict[str, dict[str, str]] = {}
    asked = "SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY table_name, column_index"
    for name, column, kind in connection.sql(asked).fetchall():
        found.setdefault(name, {})[column] = kind
    return found
