"""Parses the files of `sql/`: their definitions, dependencies and creation order.

    -- The question that the object answers, in one or more lines.
    --
    -- Further text.
    -- kept: beside the runs
    -- needs: run, settled_run
    CREATE OR REPLACE VIEW name_of_the_file AS …

`kept` marks a materialized view: its rows are computed once per instance and stored (materialized.py). Such a view has
a column `instance_key`, and its rows for an instance depend only on the rows of that instance.

A file in `macros/` may define several macros of any names. Each other file defines the object that it is named after.

A grader is one file in `graders/` with four views: its verdicts, under its own name, and `…_grader`, `…_outcome` and
`…_transition`. The view `…_grader` has the facts that other views need about the grader. Other files name `-- needs:
graders` and use `each_grader($$SELECT * FROM {grader}_outcome$$)`, the union over all graders. No other file names a
grader, so a grader cannot get the rules of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb

from tasks.adapters.store.views.headers import description, is_kept, leading_comments, needs, without_comments
from tasks.domain.errors import BadInput
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

WITH_WITHDRAWN = "SET VARIABLE withdrawn = true"
"""Makes a connection include withdrawn instances (`withdrawn_instance`)."""
MACROS = "macros"
GRADERS = "graders"
"""Folder of the graders, and the name in `-- needs:` of files that use `each_grader`."""
GRADER_PARTS = ("_grader", "_outcome", "_transition")
"""Suffixes of the views that a grader's file defines besides its verdicts."""
_TABLE_NAMES = frozenset(map(table_name, TABLES))
_EACH_GRADER = re.compile(r"each_grader\(\$\$(.*?)\$\$\)", re.DOTALL)
_CREATE = re.compile(r'CREATE\s+OR\s+REPLACE\s+(VIEW|MACRO|FUNCTION)\s+"?(\w+)"?\s*(\([^)]*\))?', re.IGNORECASE)
_VIEW = re.compile(r"(CREATE\s+OR\s+REPLACE\s+)VIEW\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SqlFile:
    name: str
    description: str
    """First paragraph of the header, on one line."""
    kind: str
    """Folder of the file: `graders`, `views`, `tables`, `audits`, `macros` …"""
    parameters: str
    """Parameters of a macro as written in the file, such as `(grader, policy)`; empty for a view."""
    needs: tuple[str, ...]
    kept: bool
    """Whether the view is materialized per instance."""
    statements: tuple[str, ...]
    path: Path


def named_queries(sql: Path) -> tuple[SqlFile, ...]:
    """Return every `*.sql` below the folder in dependency order. Raises `BadInput` for an invalid file."""
    graders = tuple(path.stem for path in sorted((sql / GRADERS).glob("*.sql")))
    found = [_question(path, path.read_text("utf-8"), graders) for path in sorted(sql.rglob("*.sql"))]
    by_name = _unique(found)
    for question in found:
        _check_needs(question, by_name)
    return tuple(by_name[name] for name in _ordered(found) if name in by_name)


def define(connection: duckdb.DuckDBPyConnection, question: SqlFile) -> None:
    """Execute the definitions of a file. Raises `BadInput` with the file's name if DuckDB rejects one."""
    for statement in question.statements:
        try:
            connection.execute(statement)
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            hint = "name what it uses in its `-- needs:` line"
            raise BadInput(f"{question.path.name} cannot be defined: {error}", hint=hint) from error


def as_tables(question: SqlFile) -> SqlFile:
    """Return the file with a table for each view: computed once and cheap to reference. Macros are unchanged."""
    return replace(question, statements=tuple(_VIEW.sub(r"\1TABLE", one, count=1) for one in question.statements))


def other_views(question: SqlFile) -> SqlFile:
    """Return the file without the object that it is named after."""
    rest = tuple(one for one in question.statements if _created(one)[2] != question.name)
    return replace(question, statements=rest)


def created_by(question: SqlFile) -> tuple[str, ...]:
    """Return the names of the views and macros that a file defines."""
    return tuple(match[2] for match in map(_created, question.statements))


def views_of(question: SqlFile) -> tuple[str, ...]:
    """Return the names of the views that a file defines, without macros."""
    found = map(_created, question.statements)
    return tuple(match[2] for match in found if match[1].upper() == "VIEW")


def needed_by(questions: Iterable[SqlFile], names: Iterable[str], *, kept: bool = False) -> frozenset[str]:
    """Return these names and all tables and files that they depend on, directly or not.

    With `kept`, dependencies of a materialized view are left out, except macros without dependencies.
    """
    known = tuple(questions)
    plain = {one.name for one in known if one.kind == MACROS and not one.needs}
    needs = {one.name: tuple(plain.intersection(one.needs)) if kept and one.kept else one.needs for one in known}
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += needs.get(name, ())
    return frozenset(found)


@lru_cache(maxsize=1024)
def _question(path: Path, text: str, graders: tuple[str, ...]) -> SqlFile:
    """Parse a file. Cached by its text: parsing all files takes 0.2 CPU s, and a demo requests them 27 times."""
    text = _for_each(text, graders)
    header = leading_comments(text)
    statements = _statements(path, text)
    own = next((match for match in map(_created, statements) if match[2] == path.stem), None)
    if own is None and path.parent.name != MACROS:
        raise BadInput(f"{path.name} does not define {path.stem}", hint="name the object after its file")
    if path.parent.name == GRADERS:
        _check_grader(path, statements)
    return SqlFile(
        name=path.stem,
        description=description(header),
        kind=path.parent.name,
        parameters=(own[3] or "") if own and own[1].upper() != "VIEW" else "",
        needs=_needed(header, graders),
        kept=is_kept(header),
        statements=statements,
        path=path,
    )


def _needed(header: Iterable[str], graders: tuple[str, ...]) -> tuple[str, ...]:
    each = [one for name in needs(header) for one in (graders if name == GRADERS else (name,))]
    return tuple(dict.fromkeys(each))


def _for_each(text: str, graders: tuple[str, ...]) -> str:
    """Return the text with every `each_grader` expanded."""

    def union(match: re.Match[str]) -> str:
        return "(" + " UNION ALL BY NAME ".join(match[1].replace("{grader}", name) for name in graders) + ")"

    return _EACH_GRADER.sub(union, text)


def _check_grader(path: Path, statements: Iterable[str]) -> None:
    made = {match[2] for match in map(_created, statements)}
    if missing := [path.stem + part for part in GRADER_PARTS if path.stem + part not in made]:
        hint = "sql/graders/paper.sql shows the views that a grader has"
        raise BadInput(f"{path.name} does not define {', '.join(missing)}", hint=hint)


def _statements(path: Path, text: str) -> tuple[str, ...]:
    try:
        parsed = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise BadInput(f"{path.name} is not SQL: {error}") from error
    statements = tuple(statement.query.strip() for statement in parsed)
    if not statements:
        raise BadInput(f"{path.name} holds no statement")
    for statement in statements:
        if _CREATE.match(without_comments(statement)) is None:
            hint = "files of sql/ hold CREATE OR REPLACE VIEW or MACRO only"
            raise BadInput(f"{path.name}: {without_comments(statement)[:60]!r} is not a definition", hint=hint)
    return statements


def _created(statement: str) -> re.Match[str]:
    match = _CREATE.match(without_comments(statement))
    assert match is not None
    return match


def _unique(found: Iterable[SqlFile]) -> dict[str, SqlFile]:
    by_name: dict[str, SqlFile] = {}
    for question in found:
        if question.name in _TABLE_NAMES:
            raise BadInput(f"{question.path.name} has the name of a table", hint="choose another name")
        if question.name in by_name:
            raise BadInput(f"two files define {question.name}: {by_name[question.name].path} and {question.path}")
        by_name[question.name] = question
    return by_name


def _check_needs(question: SqlFile, by_name: Mapping[str, SqlFile]) -> None:
    if unknown := [name for name in question.needs if name not in by_name and name not in _TABLE_NAMES]:
        hint = "`-- needs:` lists tables of the domain and files of sql/, by name"
        raise BadInput(f"{question.path.name} needs {', '.join(unknown)}, which nothing defines", hint=hint)


def _ordered(found: Iterable[SqlFile]) -> list[str]:
    graph = {question.name: question.needs for question in found}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise BadInput(f"files of sql/ need each other in a circle: {' → '.join(error.args[1])}") from error
