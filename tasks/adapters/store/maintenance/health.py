"""`swt store check`: lists all problems of a store without changing it."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from tasks.adapters.store.files.disk import TEMPORARY, Disk, Entry
from tasks.adapters.store.files.layout import FACTS, FILE_COLUMNS, file_path
from tasks.adapters.store.files.quarantine import TORN, UNREADABLE, Problem, complaints, listed
from tasks.adapters.store.tables import reading
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name

LEFTOVER_AGE_S = 3600.0
"""Age after which a temporary file counts as left behind by a dead writer."""


def check(disk: Disk, runner_version: str = "") -> tuple[Problem, ...]:
    """Return all problems, sorted. Checks rows only if every file is readable.

    With `runner_version`, includes instances whose last run used another runner version.
    """
    files = listed(disk)
    bad = [*complaints(disk, files, pages=True), *_strays(entry for _, entry in files)]
    if not any(problem.kind in UNREADABLE for problem in bad):
        bad += [*_orphans(disk), *_incomplete(disk), *_logs(disk)]
        bad += _stale(disk, runner_version) if runner_version else ()
    return tuple(sorted(bad))


def _strays(entries: Iterable[Entry]) -> Iterator[Problem]:
    """Yield files that do not belong to the store, or no longer do."""
    for entry in entries:
        if entry.path.endswith(TORN):
            yield Problem("quarantined", entry.path, "moved aside because it could not be read")
        elif entry.path.endswith(TEMPORARY):
            if entry.age_s > LEFTOVER_AGE_S:
                yield Problem("leftover", entry.path, "its writer died; `swt store gc` removes it")
        elif not entry.path.endswith(".parquet") or entry.path.count("/") != 2:
            yield Problem("stray", entry.path, "not in the layout of the store, and not read")


def _orphans(disk: Disk) -> Iterator[Problem]:
    """Yield facts without a `run` row: the run was killed before its row was written, or is being written now."""
    for kind in FACTS:
        query = "SELECT DISTINCT run_key FROM {fact} ANTI JOIN {run} USING (run_key) ORDER BY run_key"
        for key in _keys(disk, kind, query):
            yield Problem("orphan", f"{table_name(kind)} {key}", "rows without a run row; they are not counted")


def _incomplete(disk: Disk) -> Iterator[Problem]:
    query = (
        "SELECT run_key FROM {run} WHERE cases > 0 "
        "EXCEPT SELECT run_key FROM {run} SEMI JOIN {fact} USING (run_key, _part) ORDER BY run_key"
    )
    for key in _keys(disk, CaseOutcome, query):
        yield Problem("incomplete", f"run {key}", "it counted cases, and case_outcome has none of them")


def _stale(disk: Disk, runner_version: str) -> Iterator[Problem]:
    """Yield instances whose last runs used another runner version than the current one."""
    query = (
        "SELECT instance_id, count(*) FROM {run} WHERE status <> 'infrastructure' GROUP BY instance_key, instance_id "
        f"HAVING arg_max(coalesce(runner_version, ''), finished_at) <> '{runner_version}' ORDER BY instance_id"
    )
    table = reading.ask(disk, (Run,), lambda source: query.format(run=source(Run)))
    for name, runs in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield Problem("stale", f"run of {name}", f"{runs} runs by another runner; `swt evaluate` makes them again")


def _keys(disk: Disk, kind: type[Any], query: str) -> list[str]:
    """Return the first column of a query over the stored runs and one table of facts."""
    table = reading.ask(disk, (Run, kind), lambda source: query.format(run=source(Run), fact=source(kind)))
    return [str(key) for key in table.column(0).to_pylist()]


def _logs(disk: Disk) -> Iterator[Problem]:
    """Yield stored files that rows refer to and that are missing or damaged."""
    there = {entry.path for entry in disk.files("files")}
    for path in sorted(there):
        if path.endswith(".gz") and not is_whole(disk, path):
            yield Problem("torn-log", path, "its content does not have the SHA-256 that it is named after")
    for sha, where in referenced_files(disk).items():
        if file_path(sha) not in there:
            yield Problem("missing-log", file_path(sha), f"named by {where}")


def referenced_files(disk: Disk) -> dict[str, str]:
    """Return the SHA-256 of every file that a stored row names, with the first table and column that names it."""
    found: dict[str, str] = {}
    for kind, names in FILE_COLUMNS.items():
        for name in names:
            query = f"SELECT DISTINCT {name} FROM {{}} WHERE {name} <> '' ORDER BY 1"
            table = reading.ask(disk, (kind,), lambda source, k=kind, q=query: q.format(source(k)))  # type: ignore[misc]
            for sha in table.column(0).to_pylist():
                found.setdefault(str(sha), f"{table_name(kind)}.{name}")
    return found


def is_whole(disk: Disk, path: str) -> bool:
    """Whether a stored file has the content that its name promises. Raises `OSError` if it cannot be read."""
    try:
        content = gzip.decompress(disk.read(path))
    except (gzip.BadGzipFile, FileNotFoundError, EOFError, zlib.error):
        return False
    return hashlib.sha256(content).hexdigest() == path.rpartition("/")[2].removesuffix(".gz")
