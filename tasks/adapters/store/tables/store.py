"""`Store`: typed rows to atomic Parquet files and back, the index of run keys, and files by SHA-256."""

from __future__ import annotations

import gzip
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.adapters.coordination.postgres import session, shared_time_ns
from tasks.adapters.store.files.disk import open_disk
from tasks.adapters.store.files.layout import (
    FACTS,
    NOTHING,
    SCHEMA_FOLDER,
    file_path,
    folder,
    layout_of,
    part_name,
    run_file,
    run_of_file,
)
from tasks.adapters.store.files.parquet_format import content_hash, parquet_bytes, stamped, stored_schema
from tasks.adapters.store.files.quarantine import Problem, quarantine_new
from tasks.adapters.store.files.schema import arrow_schema, from_arrow, to_arrow
from tasks.adapters.store.maintenance import compaction, health
from tasks.adapters.store.tables import reading
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.names import InstanceKey, RequestId, RunKey
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, LineHit, Run, RunRequest, WatchedFile
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

Row = TypeVar("Row")
FRESH_S = 20.0
"""Maximum age of a cached index, in seconds. It is below compaction's grace period, so a younger index still contains
every run that compaction packed before it deleted the files."""
_LEDGERS: dict[str, tuple[tuple[str, ...], frozenset[RunKey], float]] = {}
"""Cache by store URL: paths of the `run` table, their run keys, and the time of the listing."""
_REQUESTS: dict[str, tuple[set[str], set[RequestId]]] = {}
"""Cache by store URL: the request files read so far, and their request ids.

Each file is read once, and all of them again after a compaction. Reading all files for each task would take quadratic
time.
"""


class Store:
    """The tables of the domain below a root folder or URL (`s3://bucket/prefix`). Holds no open handle."""

    def __init__(self, root: str) -> None:
        self.disk = open_disk(root)

    @property
    def url(self) -> str:
        """Absolute path or URL of the root."""
        return self.disk.url

    def write(self, rows: Sequence[Any], *, key: str | None = None, partition: str | None = None) -> str:
        """Write rows of one table as one file; return its path below the root, or "" if there are no rows.

        `key` names the file, and a later write with the same key replaces it. Without `key`, the content hash names the
        file. `partition` overrides the folder, which otherwise comes from the rows. All rows of one owner (layout.py)
        must be in one write. `write_run` writes `run` rows and their facts.
        """
        if not rows:
            return ""
        row_type = _single_type(rows)
        if row_type is Run or row_type in FACTS:
            raise BadInput(f"{table_name(row_type)} rows are written by write_run", hint="call Store.write_run")
        table = to_arrow(rows, row_type)
        where = folder(row_type, partition or _shared(rows, layout_of(row_type).folder))
        path = f"{where}/{_write_name(key or content_hash([table]))}"
        self.disk.write(path, parquet_bytes(stamped(table, f"{shared_time_ns():019d}")))
        return path

    def replace(self, row_type: type[Any], rows: Sequence[Any], *, key: str, **owner: Any) -> str:
        """Replace all rows of one owner, even if `rows` is empty.

        Example: `replace(Rejection, rows, key="filtered-a__b", repo="a/b")`. The owner's columns (layout.py) have these
        values in every row. A plain `write` without rows changes nothing, because it does not know the owner.
        """
        wanted = layout_of(row_type).owner
        if set(owner) != set(wanted) or any(getattr(row, name) != owner[name] for row in rows for name in wanted):
            raise BadInput(f"rows of {table_name(row_type)} are replaced by {', '.join(wanted)}, all of one owner")
        if rows:
            return self.write(rows, key=key)
        columns = [pa.field(field.name, field.type) for field in arrow_schema(row_type)]
        table = pa.Table.from_pylist([owner], schema=pa.schema(columns))
        path = f"{folder(row_type, str(owner.get(layout_of(row_type).folder, 'all')))}/{_write_name(key)}"
        self.disk.write(path, parquet_bytes(stamped(table, f"{shared_time_ns():019d}{NOTHING}")))
        return path

    def write_run(
        self,
        run: Run,
        cases: Sequence[CaseOutcome] = (),
        hits: Sequence[LineHit] = (),
        watched: Sequence[WatchedFile] = (),
    ) -> str:
        """Write a run's facts, then its `run` row, which makes them count; return the path of that row.

        A crash before the last write leaves facts that no reader sees; `gc` deletes them. A repeated write replaces the
        first.
        """
        tables = [to_arrow(rows, kind) for rows, kind in zip((cases, hits, watched), FACTS, strict=True)]
        head = to_arrow([run], Run)
        part = content_hash([head, *tables])
        for kind, table in zip(FACTS, tables, strict=True):
            if table.num_rows:
                path = f"{folder(kind, run.repo)}/{part_name(f'{run.run_key}-{part}')}"
                self.disk.write(path, parquet_bytes(stamped(table, part)))
        settled = run.status is not RunStatus.INFRASTRUCTURE
        path = f"{folder(Run, run.repo)}/{run_file(run.run_key, settled=settled)}"
        self.disk.write(path, parquet_bytes(stamped(head, part)))
        return path

    def read(self, row_type: type[Row], **where: Any) -> tuple[Row, ...]:
        """Return the rows that count, as in the views. Example: `read(Run, status=("completed", "timeout"))`.

        A single value is compared for equality, a tuple or set for membership; None matches null.
        """
        return from_arrow(reading.select(self.disk, row_type, where), row_type)

    def columns(self, row_type: type[Any], names: Sequence[str], **where: Any) -> pa.Table:
        """Return some columns of the rows that `read` returns. For tables with many rows, reads only these columns."""
        return reading.select(self.disk, row_type, where, names)

    def run_keys(self) -> frozenset[RunKey]:
        """Return the keys of all settled runs: those whose status is not `infrastructure`."""
        listed = time.monotonic()
        paths = self.disk.paths(table_name(Run))
        known = _LEDGERS.get(self.url)
        # The name of a run's file contains its key, and a pack's name is never reused: equal paths mean equal keys.
        keys = known[1] if known and known[0] == paths else frozenset(self._keys(paths))
        _LEDGERS[self.url] = paths, keys, listed
        return keys

    def has_run(self, key: RunKey, repo: str) -> bool:
        """Whether a run is settled. Checks one file; lists the table only if the cached index
        is older than `FRESH_S`."""
        if self.disk.size(f"{folder(Run, repo)}/{run_file(key, settled=True)}") is not None:
            return True
        known = _LEDGERS.get(self.url)
        fresh = known is not None and time.monotonic() - known[2] < FRESH_S
        return key in (known[1] if known and fresh else self.run_keys())

    def write_requests(self, requests: Iterable[RunRequest]) -> None:
        """Write the requests that are not stored yet."""
        stored = reading.steadily(self._request_ids, on_torn=lambda: quarantine_new(self.disk))
        self.write([row for row in {row.request_id: row for row in requests}.values() if row.request_id not in stored])

    def requested_runs(self, instances: Collection[InstanceKey]) -> tuple[Run, ...]:
        """Return the runs that these instances requested, with the names that each run has for the instance.

        Same as the view `requested_run`. Runs older than the request table belong to the instance that executed them.
        """
        if not instances:
            return ()
        requests = self.read(RunRequest, instance_key=instances)
        own = self.read(Run, instance_key=instances)
        keys = {row.run_key for row in requests}
        runs = {run.run_key: run for run in (*own, *(self.read(Run, run_key=keys) if keys else ()))}
        asked = (row.named(runs[row.run_key]) for row in requests if row.run_key in runs)
        return tuple(dict.fromkeys((*own, *asked)))

    def _request_ids(self) -> set[RequestId]:
        paths = {path for path in self.disk.paths(table_name(RunRequest)) if path.endswith(".parquet")}
        known = _REQUESTS.get(self.url, (set(), set()))
        seen, ids = known if known[0] <= paths else (set(), set())
        for path in paths - seen:
            with self.disk.source(path) as source:
                ids.update(pq.read_table(source, columns=["request_id"])["request_id"].to_pylist())
            seen.add(path)
        _REQUESTS[self.url] = seen, ids
        return ids

    def _keys(self, paths: Iterable[str]) -> Iterator[RunKey]:
        for path in paths:
            name = path.rpartition("/")[2]
            if name.startswith(compaction.PACK) and name.endswith(".parquet"):
                yield from self._packed_keys(path)
            elif key := run_of_file(name):
                yield RunKey(key)

    def put_file(self, content: Path | bytes) -> str:
        """Store a log or another file, compressed; return its SHA-256. Does not rewrite an existing file."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        if self.disk.size(file_path(sha)) is None:
            self.disk.write(file_path(sha), gzip.compress(data, 6, mtime=0))
        return sha

    def open_file(self, sha: str) -> IO[bytes]:
        """Return the content of a stored file. Raises `NotFound` if no file has this SHA-256."""
        try:
            return BytesIO(gzip.decompress(self.disk.read(file_path(sha))))
        except FileNotFoundError:
            hint = "see `swt store check`"
            raise NotFound(f"the store has no file {sha or '(empty name)'}", hint=hint) from None

    def seed(self, *, missing_only: bool = False) -> None:
        """Write one file without rows for each table, so that every glob matches and has all columns."""
        for row_type in TABLES:
            path = f"{table_name(row_type)}/{SCHEMA_FOLDER}/part-empty.parquet"
            if not missing_only or self.disk.size(path) is None:
                self.disk.write(path, parquet_bytes(stored_schema(row_type).empty_table()))

    def version(self, tables: Sequence[type[Any]] = TABLES) -> str:
        """Return a digest that changes if any file of these tables is written, moved or removed. Lists the tables."""
        listed = [self.disk.files(table_name(row_type)) for row_type in tables]
        return hashlib.sha256(repr(listed).encode()).hexdigest()

    def quarantine(self) -> tuple[Problem, ...]:
        """Rename unreadable files to `*.torn`; return the problems found.

        Cheap: reads only the footers of files that changed since the last call.
        """
        return quarantine_new(self.disk)

    def check(self, runner_version: str = "") -> tuple[Problem, ...]:
        """Return all problems of the store. Reads every page and changes nothing.

        With `runner_version`, also reports instances whose last run used another runner version.
        """
        return health.check(self.disk, runner_version)

    def compact(self, *, grace_s: float = 600.0) -> compaction.Compacted:
        """Merge small files, and delete files that were merged more than `grace_s` seconds ago (compaction.py)."""
        return compaction.compact(self.disk, grace_s=grace_s)

    def gc(self, *, grace_s: float = 86_400.0) -> tuple[str, ...]:
        """Delete files that have been unreferenced for `grace_s` seconds; return their paths."""
        from tasks.adapters.store.views import materialized as judged  # imports DuckDB; writers need none

        return tuple(sorted((*compaction.collect(self.disk, grace_s=grace_s), *judged.collect(self.disk, grace_s))))

    def _packed_keys(self, path: str) -> list[RunKey]:
        with self.disk.source(path) as source:
            table = pq.read_table(source, columns=["run_key", "status"])
        settled = pa.compute.not_equal(table["status"], RunStatus.INFRASTRUCTURE.value)
        return [RunKey(key) for key in table.filter(settled)["run_key"].to_pylist()]


def _single_type(rows: Sequence[Any]) -> type[Any]:
    kinds = Counter(type(row) for row in rows)
    if len(kinds) > 1:
        raise BadInput(f"one write is one table, not {', '.join(sorted(kind.__name__ for kind in kinds))}")
    return next(iter(kinds))


def _write_name(key: str) -> str:
    """Return the file name of a write that may be repeated.

    Machines that share a store never replace a file. Otherwise compaction on one machine could delete what another
    machine has just written under the same name: a lease expires if its holder hangs. Stamps decide which rows count
    (latest.py).
    """
    return part_name(f"{key}-{secrets.token_hex(4)}" if session() else key)


def _shared(rows: Sequence[Any], column: str) -> str:
    """Return the value that all rows have in a column: `mixed` if they differ, `all` if there is no such column."""
    values = {str(getattr(row, column, "all")) for row in rows}
    return values.pop() if len(values) == 1 else "mixed"
