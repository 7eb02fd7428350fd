"""SWE-bench files → `TaskInstance` rows. Whatever cannot be taken is named with its line; the rest is taken.

Columns that nothing reads are one note for the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.adapters.input_files.raw import LineProblem, RawRow, UnsafeValue, WrongValue, unread_note
from tasks.adapters.input_files.reader import read_rows
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch
from tasks.adapters.text import counted
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import InstanceId, SnapshotName
from tasks.scrape.dataset_columns import ALIASES, OPTIONAL, REQUIRED

KNOWN = frozenset({*REQUIRED, *OPTIONAL, *ALIASES})
"""Columns that are read."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What a file gave: the instances in its order, and a problem for everything that was not taken."""

    instances: tuple[TaskInstance, ...]
    problems: tuple[LineProblem, ...]
    notes: tuple[str, ...] = ()
    """About the whole file: columns that nothing reads, and how many rows have each."""

    def lines(self, source: str) -> tuple[str, ...]:
        """The problems and notes as lines: a column that could not be read in several rows is one line, with the first
        row and the number of others."""
        groups: dict[tuple[object, ...], list[LineProblem]] = {}
        for problem in self.problems:
            column, effect = problem.what.partition(" ")[0], problem.what.rpartition(": ")[2]
            groups.setdefault((column, effect) if column in KNOWN else (problem,), []).append(problem)
        made = []
        for first, *others in groups.values():
            more = f" (and in {counted(len(others), 'more row')})" if others else ""
            made.append(f"{source}:{first.line}: {first.instance_id or '?'}: {first.what}{more}")
        return (*made, *(f"note: {note}" for note in self.notes))


@dataclass(frozen=True, slots=True)
class _Fields:
    """Some columns of a row: what could be read, and a sentence for each that could not."""

    values: dict[str, Any]
    wrong: tuple[str, ...]
    unsafe: bool = False
    """Whether one of them is an `UnsafeValue`."""


def import_instances(path: Path, *, snapshot: str) -> ImportResult:
    """All instances of a JSON lines, JSON or Parquet file. Raises `BadInput` only where the file cannot be read."""
    return instances_of(read_rows(path), snapshot=snapshot, source=path.name)


def instances_of(rows: Iterable[RawRow], *, snapshot: str, source: str) -> ImportResult:
    """A row that says the same as an earlier one of its id is dropped; one that differs is a problem."""
    taken: dict[InstanceId, tuple[int, TaskInstance]] = {}
    problems: list[LineProblem] = []
    unread: Counter[str] = Counter()
    for row in rows:
        unread.update(row.values.keys() - KNOWN)
        instance, found = _read(row, snapshot, source)
        problems.extend(found)
        if instance is None:
            continue
        line, first = taken.setdefault(instance.instance_id, (row.line, instance))
        if first != instance:
            what = f"differs from the row with the same instance_id in line {line}, which was taken instead"
            problems.append(LineProblem(row.line, instance.instance_id, what))
    instances = tuple(instance for _, instance in taken.values())
    return ImportResult(instances, tuple(problems), unread_note(source, unread))


def snapshot_of(instances: Iterable[TaskInstance], *, snapshot: str, source: str, created_at: datetime) -> Snapshot:
    """The row that names a set of instances; its content key does not depend on their order."""
    rows = tuple(instances)
    content = Snapshot.content_of(rows)
    return Snapshot(
        snapshot=SnapshotName(snapshot), instances=len(rows), content=content, source=source, created_at=created_at
    )


def _read(row: RawRow, snapshot: str, source: str) -> tuple[TaskInstance | None, list[LineProblem]]:
    """The instance, None where it cannot be taken, and every complaint about the row."""
    if row.problem:
        return None, [LineProblem(row.line, None, row.problem)]
    try:
        named = _by_known_names(row)
    except WrongValue as error:
        return None, [LineProblem(row.line, None, f"{error}: not taken")]
    required, optional = _fields(named, REQUIRED), _fields(named, OPTIONAL)
    name = required.values.get("instance_id")
    wrong = [LineProblem(row.line, name, f"{what}: not taken") for what in required.wrong]
    ending = "not taken" if optional.unsafe else "read as missing"
    wrong += [LineProblem(row.line, name, f"{what}: {ending}") for what in optional.wrong]
    if required.wrong or optional.unsafe:
        return None, wrong
    if language := other_language(required.values["patch"], required.values["test_patch"]):
        what = f"its tests are written in {language}, and only Python projects can be run: not taken"
        return None, [*wrong, LineProblem(row.line, name, what)]
    return _instance(required.values | optional.values, snapshot, source), wrong


def _by_known_names(row: RawRow) -> dict[str, object]:
    """The row's columns under SWE-bench's names. `WrongValue` where a column and its other name disagree."""
    named: dict[str, object] = {} if row.key is None else {"instance_id": row.key}
    named |= row.values
    for alias, name in ALIASES.items():
        if alias not in row.values:
            continue
        if name in row.values and row.values[name] != row.values[alias]:
            raise WrongValue(f"{name} and {alias} differ")
        named[name] = row.values[alias]
    return named


def _fields(row: Mapping[str, object], readers: Mapping[str, Callable[[object], Any]]) -> _Fields:
    """Every column that `readers` name, missing ones read as null."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    unsafe = False
    for name, reader in readers.items():
        try:
            values[name] = reader(row.get(name))
        except WrongValue as error:
            wrong.append(f"{name} {error}" if name in row else f"{name} is missing")
            unsafe = unsafe or isinstance(error, UnsafeValue)
    return _Fields(values, tuple(wrong), unsafe)


def _instance(values: Mapping[str, Any], snapshot: str, source: str) -> TaskInstance:
    """A row from columns that have been read; an optional one that could not be read is absent here."""
    repo, base_commit = values["repo"], values["base_commit"]
    return TaskInstance(
        repo=repo,
        instance_id=values["instance_id"],
        base_commit=base_commit,
        patch=values["patch"],
        test_patch=values["test_patch"],
        problem_statement=values.get("problem_statement", ""),
        hints_text=values.get("hints_text", ""),
        created_at=values.get("created_at"),
        version=values.get("version"),
        FAIL_TO_PASS=values.get("FAIL_TO_PASS"),
        PASS_TO_PASS=values.get("PASS_TO_PASS"),
        environment_setup_commit=values.get("environment_setup_commit"),
        snapshot=SnapshotName(snapshot),
        instance_key=TaskInstance.key_of(repo, base_commit, values["patch"], values["test_patch"]),
        source=source,
    )


PYTHON = frozenset({".py", ".pyi", ".pyx", ".pxd", ".ipynb"})
LANGUAGES = {
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "C++"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "JavaScript"),
    **dict.fromkeys((".ts", ".tsx", ".mts"), "TypeScript"),
    **dict.fromkeys((".kt", ".kts"), "Kotlin"),
    **dict.fromkeys((".ex", ".exs"), "Elixir"),
    ".cs": "C#",
    ".dart": "Dart",
    ".go": "Go",
    ".groovy": "Groovy",
    ".hs": "Haskell",
    ".java": "Java",
    ".jl": "Julia",
    ".lua": "Lua",
    ".php": "PHP",
    ".pl": "Perl",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".scala": "Scala",
    ".swift": "Swift",
    ".zig": "Zig",
}


def other_language(patch: str, test_patch: str) -> str:
    """The language of the golden tests and one of their files, where neither patch touches a Python file.

    Empty where one does, and where no golden test has a known suffix: data files may be what Python tests read.
    """
    paths = _paths(test_patch)
    if any(PurePosixPath(path).suffix in PYTHON for path in (*paths, *_paths(patch))):
        return ""
    known = ((LANGUAGES[suffix], path) for path in paths if (suffix := PurePosixPath(path).suffix) in LANGUAGES)
    return next((f"{language} ({path})" for language, path in known), "")


def _paths(text: str) -> tuple[str, ...]:
    read = read_patch(text)
    return () if isinstance(read, Refused) else tuple(file.path for file in read.files)
