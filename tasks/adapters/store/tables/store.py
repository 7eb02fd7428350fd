"""The store: typed rows to atomic Parquet files and back, the ledger of run keys, and files by their SHA-256."""

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
"""So old a ledger still has what compaction packed before it took the files away: its grace period is longer."""
_LEDGERS: dict[str, tuple[tuple[str, ...], frozenset[RunKey], float]] = {}
"""By store: the paths of the table of runs, the keys that they stand for, and when they were listed."""
_REQUESTS: dict[str, tuple[set[str], set[RequestId]]] = {}
"""By store: the files of requests that were read, and the requests in them. Each file is read once, and all of them
after a compaction: to read all for each unit of work would take a time that grows with the square of the units."""


class Store:
    """A root folder or URL (`s3://bucket/prefix`) with the tables of the domain. Holds no handle: pass it around."""

    def __init__(self, root: str) -> None:
        self.disk = open_disk(root)

    @property
    def url(self) -> str:
        """Absolute path or URL of the root."""
        return self.disk.url

    def write(self, rows: Sequence[Any], *, key: str | None = None, partition: str | None = None) -> str:
        """Write rows of one table as one file; its path below the root, or "" where there are no rows.

        With `key`, the file is named after it, and a later write with the same key replaces it. Without, equal rows
        make an equal name. `partition` overrides the folder, which is otherwise taken from the rows. All rows of one
        owner (layout.py) go into one write. A `run` and its facts go through `write_run`.
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
        """Write the rows about one owner in place of all that were known of it, also where there are none now.

        `replace(Rejection, rows, key="filtered-a__b", repo="a/b")`: the owner's columns (layout.py) have these values
        in every row. A plain `write` of no rows leaves what was there: it does not know what it is about.
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
        """Write a run's facts and then its `run` row, which makes them count; the path of the latter.

        Whatever a crash leaves before that row is invisible, and goes with `gc`. A repeated write replaces the first.
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
        """The rows that count, as in the views. `read(Run, instance_key="…", status=("completed", "timeout"))`:
        a value has to be equal, a tuple or set has to hold the column's value, None means null."""
        return from_arrow(reading.select(self.disk, row_type, where), row_type)

    def columns(self, row_type: type[Any], names: Sequence[str], **where: Any) -> pa.Table:
        """Some columns of the rows that `read` gives. Of tables with many rows nothing else is read from the disk."""
        return reading.select(self.disk, row_type, where, names)

    def run_keys(self) -> frozenset[RunKey]:
        """The ledger: keys of all runs that are settled, that is, not `infrastructure`."""
        listed = time.monotonic()
        paths = self.disk.paths(table_name(Run))
        known = _LEDGERS.get(self.url)
        # A file's name says whose it is, and a pack's is never used again.
        keys = known[1] if known and known[0] == paths else frozenset(self._keys(paths))
        _LEDGERS[self.url] = paths, keys, listed
        return keys

    def has_run(self, key: RunKey, repo: str) -> bool:
        """Whether a run is settled by now. Asks for one file: the table is listed where the ledger is not fresh."""
        if self.disk.size(f"{folder(Run, repo)}/{run_file(key, settled=True)}") is not None:
            return True
        known = _LEDGERS.get(self.url)
        fresh = known is not None and time.monotonic() - known[2] < FRESH_S
        return key in (known[1] if known and fresh else self.run_keys())

    def write_requests(self, requests: Iterable[RunRequest]) -> None:
        """Write those of the requests that are not stored."""
        stored = reading.steadily(self._request_ids, on_torn=lambda: quarantine_new(self.disk))
        self.write([row for row in {row.request_id: row for row in requests}.values() if row.request_id not in stored])

    def requested_runs(self, instances: Collection[InstanceKey]) -> tuple[Run, ...]:
        """The runs that instances asked for, each under the names that it has for the instance; as the view
        `requested_run`. Runs from before there were requests are those of the instances that made them."""
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
        """Keep a log or another file, compressed; its SHA-256. A file that is there already is left alone."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        if self.disk.size(file_path(sha)) is None:
            self.disk.write(file_path(sha), gzip.compress(data, 6, mtime=0))
        return sha

    def open_file(self, sha: str) -> IO[bytes]:
        """The content of a kept file. `NotFound` where there is none with this SHA-256."""
        try:
            return BytesIO(gzip.decompress(self.disk.read(file_path(sha))))
        except FileNotFoundError:
            hint = "see `swt store check`"
            raise NotFound(f"the store has no file {sha or '(empty name)'}", hint=hint) from None

    def seed(self, *, missing_only: bool = False) -> None:
        """Write one file without rows for each table, so that every glob finds something and knows all columns."""
        for row_type in TABLES:
            path = f"{table_name(row_type)}/{SCHEMA_FOLDER}/part-empty.parquet"
            if not missing_only or self.disk.size(path) is None:
                self.disk.write(path, parquet_bytes(stored_schema(row_type).empty_table()))

    def version(self, tables: Sequence[type[Any]] = TABLES) -> str:
        """Changes with every file of these tables that is written, moved or removed. Lists them."""
        listed = [self.disk.files(table_name(row_type)) for row_type in tables]
        return hashlib.sha256(repr(listed).encode()).hexdigest()

    def quarantine(self) -> tuple[Problem, ...]:
        """Move files that cannot be read aside, as `*.torn`; what was moved. Cheap: reads footers, and of files only
        that have changed since it was last done."""
        return quarantine_new(self.disk)

    def check(self, runner_version: str = "") -> tuple[Problem, ...]:
        """Everything that is wrong with the store. Reads every page and changes nothing.

        With a `runner_version`, instances that were last run by another one as well.
        """
        return health.check(self.disk, runner_version)

    def compact(self, *, grace_s: float = 600.0) -> compaction.Compacted:
        """Merge small files, and remove what was merged so many seconds ago (compaction.py)."""
        return compaction.compact(self.disk, grace_s=grace_s)

    def gc(self, *, grace_s: float = 86_400.0) -> tuple[str, ...]:
        """Delete what nothing has referred to for `grace_s` seconds; the paths."""
        from tasks.adapters.store.views import materialized as judged  # takes DuckDB, which no writer of rows needs

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
    """File name of a write that may come again. Machines that work together never replace a file: a compaction on one
    would delete what another has put in its place meanwhile, and no lease holds for one that stands still. Which rows
    count follows from their stamps (latest.py)."""
    return part_name(f"{key}-{secrets.token_hex(4)}" if session() else key)


def _shared(rows: Sequence[Any], column: str) -> str:
    """The value that all rows have in a column; `mixed` where they differ, `all` where there is no such column."""
    values = {str(getattr(row, column, "all")) for row in rows}
    return values.pop() if len(values) == 1 else "mixed"
