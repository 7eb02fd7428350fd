"""Merges small files and deletes unreferenced ones. Safe to kill at any moment, next to readers and writers.

Compaction never edits files: it writes packs next to the files that they merge. Until those are deleted, each row is
stored twice, and `latest.py` counts it once. A pack of runs holds `run` rows that name the pack as their part, and its
rename comes after the packs with their facts. A merged file is deleted only when its pack is older than a grace period,
so readers that listed the files earlier still find them.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.adapters.coordination.postgres import shared_time_ns
from tasks.adapters.store.files.disk import TEMPORARY, Disk, Entry
from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.layout import FACTS, PART, file_path
from tasks.adapters.store.files.parquet_format import (
    SOURCES,
    STAMP,
    WRITING,
    Source,
    data_files,
    sources_of,
    stamp_of,
    stored_schema,
)
from tasks.adapters.store.files.quarantine import quarantine
from tasks.adapters.store.maintenance.health import referenced_files
from tasks.adapters.store.tables.latest import latest
from tasks.adapters.store.tables.reading import ask
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

PACK = "pack-"
FULL_BYTES = 256 * 1024 * 1024
"""Size above which packs are not merged again: of one run folder with its facts, or of one other folder."""

GROUP_ROWS = 122_880
"""Rows of one row group: DuckDB's own unit."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """Result of one compaction."""

    packs: int
    """Number of packs written."""
    merged: int
    """Number of files that they replace."""
    removed: int
    """Number of files deleted, including files that earlier compactions merged."""

    def __str__(self) -> str:
        return (
            f"{self.merged} files merged into {self.packs}, {self.removed} replaced files deleted; "
            "`swt store gc` deletes the others once no reader can have listed them"
        )


@dataclass(frozen=True, slots=True)
class CompactionBatch:
    """Files of one folder that become one pack."""

    folder: str
    """The part of the path between table and file, such as `repo=pallets__flask`."""
    files: tuple[Source, ...]


def compact(disk: Disk, *, grace_s: float) -> Compacted:
    """Merge small files, and delete files that this or an earlier compaction merged more than `grace_s` seconds ago.

    Files merged now stay for readers that have listed them: the next compaction or `collect` deletes them. A second
    compaction waits for the first. Writers are not blocked.
    """
    with disk.lock(exclusive=True, name=".compaction"):
        quarantine(disk)
        written = [_pack_runs(disk, batch) for batch in _batches(disk, Run)]
        for row_type in TABLES:
            if row_type is not Run and row_type not in FACTS:
                written += [_pack_rows(disk, row_type, batch) for batch in _batches(disk, row_type)]
        removed = _remove_merged(disk, grace_s)
    return Compacted(len(written), sum(written), len(removed))


def collect(disk: Disk, *, grace_s: float) -> tuple[str, ...]:
    """Delete merged files, facts that no run names, unfinished files and unreferenced logs older than `grace_s`."""
    with disk.lock(exclusive=True, name=".compaction"):
        removed = _remove_merged(disk, grace_s)
        for path in [*_lost_facts(disk, grace_s), *_unfinished(disk, grace_s), *_unnamed_files(disk, grace_s)]:
            disk.delete(path)
            removed.append(path)
    return tuple(sorted(removed))


def _batches(disk: Disk, row_type: type[Any]) -> Iterator[CompactionBatch]:
    """Yield, per folder, the files that no pack has merged and the packs that are not full."""
    folders: dict[str, list[Entry]] = defaultdict(list)
    for entry in data_files(disk, row_type):
        folders[entry.path.split("/")[1]].append(entry)
    for folder, entries in folders.items():
        files = _unheld(disk, entries)
        if len(files) > 1:
            yield CompactionBatch(folder, files)


def _unheld(disk: Disk, entries: Sequence[Entry]) -> tuple[Source, ...]:
    """Return the files of one folder that should be merged."""
    packs = [entry for entry in entries if entry.name.startswith(PACK)]
    # A merged file stays next to its pack until the grace period ends; merging it again would duplicate its rows.
    held = {source for pack in packs for source in sources_of(disk, pack.path)}
    small = [entry for entry in entries if entry not in packs or _unit_bytes(disk, entry) < FULL_BYTES]
    return tuple(source for source in _stamped(disk, small) if source not in held)


def _stamped(disk: Disk, entries: Iterable[Entry]) -> Iterator[Source]:
    return (Source(entry.path, stamp_of(disk, entry.path)) for entry in entries)


def _unit_bytes(disk: Disk, pack: Entry) -> int:
    """Return the size of a pack in bytes; for a pack of runs, including its facts."""
    return pack.size + sum(disk.size(path) or 0 for path in _fact_paths(pack.path))


def _fact_paths(run_pack: str) -> tuple[str, ...]:
    """Return the paths of the facts of a pack of runs; empty for packs of other tables."""
    table, _, rest = run_pack.partition("/")
    return tuple(f"{table_name(kind)}/{rest}" for kind in FACTS) if table == table_name(Run) else ()


def _new_pack() -> str:
    """Return an id that is greater than that of any earlier pack and any part of a single write."""
    return f"{PACK}{shared_time_ns():019d}-{secrets.token_hex(2)}"


def _pack_rows(disk: Disk, row_type: type[Any], batch: CompactionBatch) -> int:
    """Merge files of a table without facts; return the number of merged files."""
    table = _latest_rows(disk, row_type, batch.files)
    pack = _new_pack()
    _write_pack(disk, f"{table_name(row_type)}/{batch.folder}/{pack}.parquet", [table], pack, batch.files)
    return len(batch.files)


def _pack_runs(disk: Disk, batch: CompactionBatch) -> int:
    """Merge the runs of one repository: first their facts, then the `run` rows that name the pack."""
    runs, pack = _latest_rows(disk, Run, batch.files), _new_pack()
    parts = set(runs[PART].to_pylist())
    merged = list(batch.files)
    # A kill in between leaves packs that no run names; `_lost_facts` removes them and no row is lost.
    for kind in FACTS:
        files = list(_files_of_parts(disk, kind, batch.folder, parts))
        merged += files
        if files:
            tables = (_restamped(table, pack) for table in _facts(disk, kind, files, runs))
            _write_pack(disk, f"{table_name(kind)}/{batch.folder}/{pack}.parquet", tables, pack, ())
    _write_pack(disk, f"{table_name(Run)}/{batch.folder}/{pack}.parquet", [_restamped(runs, pack)], pack, merged)
    return len(merged)


def _latest_rows(disk: Disk, row_type: type[Any], files: Sequence[Source]) -> pa.Table:
    """Return the rows of some files that count, with all stored columns, including those unknown to this version."""
    tables = [_with_name(_read(disk, file.path), file.path) for file in files]
    rows = pa.concat_tables([stored_schema(row_type).empty_table(), *tables], promote_options="permissive")
    known = set(stored_schema(row_type).names)
    more = [name for name in rows.schema.names if name not in known and name != "filename"]
    with connected() as connection:
        connection.register("rows_of_files", rows)
        query = latest(row_type, lambda _: "rows_of_files", more=[*more, PART], nothing=True)
        return connection.sql(query).to_arrow_table()


def _files_of_parts(disk: Disk, kind: type[Any], folder: str, parts: set[str]) -> Iterator[Source]:
    for entry in disk.files(f"{table_name(kind)}/{folder}"):
        if entry.path.endswith(".parquet") and (stamp := stamp_of(disk, entry.path)) in parts:
            yield Source(entry.path, stamp)


def _facts(disk: Disk, kind: type[Any], files: Sequence[Source], runs: pa.Table) -> Iterator[pa.Table]:
    """Yield the facts that `runs` name, one file at a time, all with one schema."""
    schemas = [_schema(disk, file.path) for file in files]
    schema = pa.unify_schemas([_bare(stored_schema(kind)), *schemas], promote_options="permissive")
    # Match key and part: by key alone, facts of a replaced write of the same run would count again.
    wanted = pc.binary_join_element_wise(runs["run_key"], runs[PART], " ").combine_chunks()
    for file in files:
        table = _read(disk, file.path)
        found = pc.binary_join_element_wise(table["run_key"], table[PART], " ")
        kept = table.filter(pc.is_in(found, value_set=wanted))
        yield pa.concat_tables([schema.empty_table(), kept], promote_options="permissive").cast(schema)


def _write_pack(disk: Disk, path: str, tables: Iterable[pa.Table], pack: str, merged: Sequence[Source]) -> None:
    """Write a pack with the list of files that it replaces and with row groups of `GROUP_ROWS` rows."""
    sources = json.dumps([[source.path, source.stamp] for source in merged])
    with disk.create(path) as sink:
        writer: pq.ParquetWriter | None = None
        for table in _grouped(tables):
            if writer is None:
                schema = table.schema.with_metadata({STAMP: pack.encode(), SOURCES: sources.encode()})
                writer = pq.ParquetWriter(sink, schema, **WRITING)
            writer.write_table(table.replace_schema_metadata(writer.schema.metadata))
        assert writer is not None
        writer.close()


def _grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in tables of about `GROUP_ROWS` rows; at least one table."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(one.num_rows for one in held) >= GROUP_ROWS:
            yield pa.concat_tables(held).combine_chunks()
            held = [table.slice(0, 0)]  # at least one table must carry the schema
    yield pa.concat_tables(held).combine_chunks()


def _restamped(table: pa.Table, part: str) -> pa.Table:
    position = table.schema.get_field_index(PART)
    return table.set_column(position, PART, pa.array([part] * table.num_rows, pa.string()))


def _with_name(table: pa.Table, path: str) -> pa.Table:
    return table.append_column("filename", pa.array([path] * table.num_rows, pa.string()))


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def _read(disk: Disk, path: str) -> pa.Table:
    """Read a whole file, nullable and without metadata, so that files of all versions can be combined."""
    with disk.source(path) as source:
        # Fail on a torn file: after merging it, compaction would delete the original.
        table = pq.ParquetFile(source, page_checksum_verification=True).read()
    return table.cast(_bare(table.schema))


def _schema(disk: Disk, path: str) -> pa.Schema:
    with disk.source(path) as source:
        return _bare(pq.read_schema(source))


def _remove_merged(disk: Disk, grace_s: float) -> list[str]:
    """Delete the files that old enough packs replace, unless a writer has replaced them since."""
    there = {entry.path for row_type in TABLES for entry in data_files(disk, row_type)}
    removed: list[str] = []
    for row_type in TABLES:
        for entry in data_files(disk, row_type):
            if entry.name.startswith(PACK) and entry.age_s >= grace_s:
                due = (source for source in sources_of(disk, entry.path) if source.path in there)
                removed += [source.path for source in due if _remove(disk, source)]
    return removed


def _remove(disk: Disk, source: Source) -> bool:
    """Delete a file if it is still the merged one; return whether it was. The exclusive lock blocks writers."""
    # A writer with the same key may replace the file; its rows would be lost between check and deletion.
    with disk.lock(exclusive=True):
        if disk.size(source.path) is None or stamp_of(disk, source.path) != source.stamp:
            return False
        disk.delete(source.path)
    return True


def _lost_facts(disk: Disk, grace_s: float) -> list[str]:
    """Return facts that no `run` row names: of a run that was killed or written again."""
    old = [entry for kind in FACTS for entry in data_files(disk, kind) if entry.age_s >= grace_s]
    named = ask(disk, (Run,), lambda source: f"SELECT DISTINCT {PART} FROM {source(Run)}")
    parts = set(named.column(0).to_pylist())
    return [entry.path for entry in old if stamp_of(disk, entry.path) not in parts]


def _unfinished(disk: Disk, grace_s: float) -> list[str]:
    folders = ["files", *(table_name(row_type) for row_type in TABLES)]
    entries = (entry for folder in folders for entry in disk.files(folder))
    return [entry.path for entry in entries if entry.path.endswith(TEMPORARY) and entry.age_s >= grace_s]


def _unnamed_files(disk: Disk, grace_s: float) -> list[str]:
    """Return logs that no row names. Lists files before it reads names, since a log is written before its row."""
    old = [entry.path for entry in disk.files("files") if entry.path.endswith(".gz") and entry.age_s >= grace_s]
    named = {file_path(sha) for sha in referenced_files(disk)}
    return [path for path in old if path not in named]
