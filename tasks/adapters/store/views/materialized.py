"""Materialized views: the verdicts of each instance are computed once and stored next to the runs.

    <root>/judged/<digest of the definitions>/<view>/part-<id>.parquet      rows of a `kept` view (sql_files.py)
    <root>/judged/<digest of the definitions>/judgement/part-<id>.parquet   which part counts for which instance
    <root>/judged/<digest of the definitions>/current.json                  digest of the input files

`sql/` is the only definition: batches.py computes the rows, stored under a digest of the definitions. The index holds a
digest of all input rows of an instance. If either digest changes, the rows are computed again. `differences` recomputes
a sample to check the stored rows. All of it can be deleted.

A reader lists the files of a view when it plans and opens them when it reads, so a listed file must stay. A replaced
part keeps its rows for `GRACE_S`. Then a file without rows replaces it, which is deleted after `EMPTY_S`. A reader
lists the index before the views, so every part that the index names is in the listing.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.adapters.coordination.postgres import shared_time_ns
from tasks.adapters.store.files.disk import TEMPORARY, Disk, Entry, open_disk
from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.layout import FACTS, PART
from tasks.adapters.store.files.parquet_format import WRITING, parquet_bytes
from tasks.adapters.store.files.provenance import project_commit
from tasks.adapters.store.files.quarantine import Problem, quarantine
from tasks.adapters.store.files.schema import arrow_schema, columns
from tasks.adapters.store.tables.latest import latest, literal, quoted
from tasks.adapters.store.tables.reading import source_of, steadily
from tasks.adapters.store.views.batches import ASKING, KEY, batches, enter, has_key, load
from tasks.adapters.store.views.headers import without_comments
from tasks.adapters.store.views.sql_files import SqlFile, as_tables, define, named_queries, needed_by
from tasks.domain.candidate import Candidate
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

FOLDER = "judged"
INDEX = "judgement"
MARKER = "current.json"
SEED = "part-empty.parquet"
MANY = 24
"""Number of parts above which they are merged: each query opens all of them."""
GRACE_S = 600.0
"""No query takes this long, so no query reads the rows of a part that was replaced earlier."""
EMPTY_S = 86_400.0
"""How long a file without rows stays; a query opens the files that it listed within seconds."""
FORGOTTEN_S = 14 * 86_400.0
"""Rows of definitions that no process used for this long are deleted."""
NAMED_BY_CONTENT = frozenset({("candidate", "patch"), ("suite", "patch"), ("proposed_fix", "patch")})
"""Long columns that follow from the id in the same row. The fingerprint of a row leaves them out."""
_INDEX_SCHEMA = pa.schema(
    [
        (KEY, pa.string()),
        ("inputs", pa.string()),
        ("judged_at", pa.timestamp("us", "UTC")),
        ("by_commit", pa.string()),
        (PART, pa.string()),
    ]
)
INDEX_TEXTS = {
    KEY: "the instance that is judged",
    "inputs": "digest of all rows about the instance that its kept rows follow from",
    "judged_at": "when, UTC",
    "by_commit": "40 hexadecimal digits of the project's commit; empty outside a checkout",
    PART: "the stored part that holds the kept rows",
}
"""Meaning of the index columns."""
Progress = Callable[[int, int], None]
"""Called with the number of computed instances and the number of all instances to compute."""


@dataclass(frozen=True, slots=True)
class MaterializedPlace:
    """Location and inputs of materialized rows: enough to check that they are current without reading `sql/`."""

    root: str
    """Folder in the store; empty if no view is materialized."""
    inputs: tuple[str, ...]
    """Names of tables."""


@dataclass(frozen=True, slots=True)
class Materialized:
    """The materialized views and all definitions and tables that they depend on."""

    digest: str
    names: tuple[str, ...]
    closure: tuple[SqlFile, ...]
    tables: tuple[type[Any], ...]

    @property
    def root(self) -> str:
        return f"{FOLDER}/{self.digest}"

    @property
    def inputs(self) -> tuple[type[Any], ...]:
        """Tables whose rows decide whether an instance is computed again. Outcomes and lines follow from runs."""
        return tuple(row_type for row_type in self.tables if row_type not in FACTS)

    @property
    def place(self) -> MaterializedPlace:
        return MaterializedPlace(self.root if self.names else "", tuple(map(table_name, self.inputs)))


def kept_of(questions: Sequence[SqlFile]) -> Materialized:
    """Return the views that `sql/` declares as materialized; there may be none."""
    names = tuple(question.name for question in questions if question.kept)
    needed = needed_by(questions, names)
    closure = tuple(question for question in questions if question.name in needed)
    digest = hashlib.sha256(b"judged 2")
    for question in closure:
        for statement in question.statements:
            digest.update(without_comments(statement).encode() + b"\0")
    tables = tuple(row_type for row_type in TABLES if table_name(row_type) in needed)
    return Materialized(digest.hexdigest()[:16], names, closure, tables)


def select_kept(name: str, source: Callable[[str], str]) -> str:
    """Return a SELECT of the rows of a materialized view that count; `source(view)` is the text after FROM."""
    return f"SELECT v.* EXCLUDE ({PART}) FROM {INDEX} AS i JOIN {source(name)} AS v USING ({KEY}, {PART})"


def select_index(source: Callable[[str], str]) -> str:
    """Return a SELECT of the parts that count."""
    return f"SELECT * FROM {source(INDEX)}\nQUALIFY row_number() OVER (PARTITION BY {KEY} ORDER BY {PART} DESC) = 1"


def glob_of_kept(url: str, kept: Materialized, name: str) -> str:
    """Return a FROM clause over the stored rows of a materialized view, or of the index."""
    return f"read_parquet({literal(f'{url}/{kept.root}/{name}/*.parquet')}, hive_partitioning=false)"


def kept_source(disk: Disk, kept: Materialized) -> Callable[[str], str]:
    """Return a function from the name of a materialized view to a FROM clause over its files."""
    return lambda name: glob_of_kept(disk.url, kept, name)


def bring_up_to_date(store_root: str, sql: Path, progress: Progress | None = None) -> int:
    """Compute new or changed instances, including those affected by a change of `sql`; return their number.

    If all are current, only lists files. One process computes at a time; others wait and then find the work done.
    """
    return judge(open_disk(store_root), kept_of(named_queries(sql)), progress)


def judge(disk: Disk, kept: Materialized, progress: Progress | None = None) -> int:
    """`bring_up_to_date` for parsed definitions."""
    if is_current(disk, kept.place):
        return 0
    with disk.lock(exclusive=True, name=".judging"):
        listed = listing(disk, kept.place)
        seed(disk, kept)
        done = 0
        with connected(store=disk.url) as connection:
            stale = steadily(lambda: _stale(connection, disk, kept), on_torn=lambda: quarantine(disk))
            if stale:
                done = _judge(connection, disk, kept, stale, progress)
        _tidy(disk, kept)
        disk.write(f"{kept.root}/{MARKER}", json.dumps({"listed": listed}).encode())
    return done


def is_current(disk: Disk, place: MaterializedPlace) -> bool:
    """Whether no input file was added, removed or changed since the last computation."""
    if not place.root:
        return True
    try:
        noted = json.loads(disk.read(f"{place.root}/{MARKER}"))["listed"]
    except (FileNotFoundError, ValueError, KeyError):
        return False
    return bool(noted == listing(disk, place))


def listing(disk: Disk, place: MaterializedPlace) -> str:
    """Return a digest that changes with every file of the input tables."""
    listed = [disk.files(name) for name in place.inputs]
    return hashlib.sha256(repr(listed).encode()).hexdigest()


def seed(disk: Disk, kept: Materialized) -> None:
    """Write a file without rows for each materialized view, so that every glob matches and has all columns."""
    if disk.size(f"{kept.root}/{INDEX}/{SEED}") is not None:
        return
    for name, data in _seeds(kept):
        disk.write(f"{kept.root}/{name}/{SEED}", data)
    disk.write(f"{kept.root}/{INDEX}/{SEED}", _empty_index())


def _empty_index() -> bytes:
    return parquet_bytes(_INDEX_SCHEMA.empty_table())


@lru_cache(maxsize=2)
def _seeds(kept: Materialized) -> tuple[tuple[str, bytes], ...]:
    """Return the name and the empty file of each materialized view; the same for every store."""
    with connected() as connection:
        for row_type in kept.tables:
            connection.register("no_rows", arrow_schema(row_type).empty_table())
            connection.execute(f"CREATE TABLE {table_name(row_type)} AS FROM no_rows")
        for question in kept.closure:
            define(connection, as_tables(question))
        empty = {n: connection.sql(f"SELECT *, '' AS {PART} FROM {n} LIMIT 0").to_arrow_table() for n in kept.names}
    return tuple((name, parquet_bytes(table)) for name, table in empty.items())


def differences(store_root: str, sql: Path, *, share: float, at_least: int, draw: int) -> Iterator[Problem]:
    """Recompute a random share of the instances, at least `at_least`; yield a problem for each view that differs."""
    disk, kept = open_disk(store_root), kept_of(named_queries(sql))
    if disk.size(f"{kept.root}/{INDEX}/{SEED}") is None:
        return  # no instance was computed with these definitions
    with connected(store=disk.url) as connection:
        source = kept_source(disk, kept)
        connection.execute(f"CREATE TABLE {INDEX} AS {select_index(source)}")
        keys = sorted(row[0] for row in connection.sql(f"SELECT {KEY} FROM {INDEX}").fetchall())
        stale = {key for key, _ in _stale(connection, disk, kept)}
        known = [key for key in keys if key not in stale]
        count = min(len(known), max(at_least, round(share * len(known))))
        drawn = random.Random(draw).sample(known, count)  # noqa: S311 - a sample, no secret
        for batch in batches(load(connection, disk, kept.tables, drawn)):
            enter(connection, disk, kept.tables, kept.closure, batch)
            for name in kept.names:
                yield from _compare(connection, name, source)


def _compare(connection: duckdb.DuckDBPyConnection, name: str, source: Callable[[str], str]) -> Iterator[Problem]:
    """Yield the instances of the batch for which a view and its stored rows differ."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE kept_rows AS {select_kept(name, source)}")
    about = f"WHERE {KEY} IN (FROM batch)"
    both = f"(FROM {name} {about}) AS said", f"(FROM kept_rows {about}) AS held"
    one, other = (f"SELECT * FROM {side}" for side in both)
    rows = connection.sql(
        f"SELECT {KEY}, count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})) "
        "GROUP BY 1 ORDER BY 1"
    ).fetchall()
    for key, count in rows:
        yield Problem("misjudged", f"{name} of {key}", f"{count} rows differ from what the runs say; delete `{FOLDER}`")


def _stale(connection: duckdb.DuckDBPyConnection, disk: Disk, kept: Materialized) -> list[tuple[str, str]]:
    """Return instances whose stored rows are missing or have other inputs, each with the digest of its inputs."""
    keyed = [row_type for row_type in kept.inputs if has_key(row_type)]
    sources = {row_type: source_of(connection, disk, row_type) for row_type in (*keyed, *ASKING)}
    parts = [_fingerprint(row_type, sources) for row_type in keyed]
    source = kept_source(disk, kept)
    return connection.sql(
        f"WITH said AS (SELECT {KEY}, md5(string_agg(name || ' ' || total, ' ' ORDER BY name)) AS now "
        f"FROM ({' UNION ALL '.join(parts)}) GROUP BY {KEY}) "
        f"SELECT s.{KEY}, s.now FROM said AS s LEFT JOIN ({select_index(source)}) AS i ON i.{KEY} = s.{KEY} "
        f"WHERE i.inputs IS DISTINCT FROM s.now AND s.{KEY} <> '' ORDER BY 1"
    ).fetchall()


def _fingerprint(row_type: type[Any], sources: Mapping[type[Any], str]) -> str:
    """Return a SELECT of a number per instance that changes with any row about it and any run that it requested."""
    name, source = table_name(row_type), sources[row_type]
    hashed = [quoted(c.name) for c in columns(row_type) if (name, c.name) not in NAMED_BY_CONTENT]
    rows = latest(row_type, lambda _: source)
    total = f"sum(hash({', '.join(hashed)}))"
    if row_type is Candidate:  # all candidates for one place together decide which one counts
        inner = f"SELECT {KEY}, {total} OVER (PARTITION BY instance_id) AS total FROM ({rows})"
        rows, total = inner, "any_value(total)"
    if row_type is Run:
        asked = " UNION ".join(f"SELECT {KEY}, run_key FROM {sources[one]}" for one in (Run, *ASKING))
        rows = f"SELECT a.{KEY} AS {KEY}, r.* EXCLUDE ({KEY}) FROM ({asked}) AS a JOIN ({rows}) AS r USING (run_key)"
    return f"SELECT {KEY}, {literal(name)} AS name, {total}::VARCHAR AS total FROM ({rows}) GROUP BY {KEY}"


def _judge(
    connection: duckdb.DuckDBPyConnection,
    disk: Disk,
    kept: Materialized,
    stale: Sequence[tuple[str, str]],
    progress: Progress | None,
) -> int:
    inputs = dict(stale)
    instances = load(connection, disk, kept.tables, inputs)
    done = 0
    for batch in batches(instances):
        steadily(lambda b=batch: enter(connection, disk, kept.tables, kept.closure, b))  # type: ignore[misc]
        part = _new_part()
        for name in kept.names:
            about = f"SELECT *, {literal(part)} AS {PART} FROM {name} WHERE {KEY} IN (FROM batch) ORDER BY {KEY}"
            table = connection.sql(about).to_arrow_table()
            if table.num_rows:
                disk.write(f"{kept.root}/{name}/part-{part}.parquet", parquet_bytes(table))
        _write_index(disk, kept, part, [(one.key, inputs[one.key]) for one in batch])
        done += len(batch)
        if progress:
            progress(done, len(instances))
    return done


def _write_index(disk: Disk, kept: Materialized, part: str, judged: Sequence[tuple[str, str]]) -> None:
    """Write the index rows that make a part count. Must be the last write of a part."""
    now = datetime.now(UTC)
    rows = [(key, inputs, now, project_commit(), part) for key, inputs in judged]
    names = _INDEX_SCHEMA.names
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=_INDEX_SCHEMA)
    disk.write(f"{kept.root}/{INDEX}/part-{part}.parquet", parquet_bytes(table))


def _new_part() -> str:
    """Return an id that is greater than any earlier one."""
    return f"{shared_time_ns():019d}-{secrets.token_hex(2)}"


def _tidy(disk: Disk, kept: Materialized) -> None:
    """Merge parts if there are many; remove replaced parts and forgotten definitions."""
    parts = [entry for entry in disk.files(f"{kept.root}/{INDEX}") if entry.name != SEED]
    if len(parts) > MANY:
        _merge(disk, kept)
    empty = {f"{kept.root}/{name}": data for name, data in (*_seeds(kept), (INDEX, _empty_index()))}
    for entry, unnamed_s in _replaced(disk, kept.root):
        rowless = empty.get(entry.path.rpartition("/")[0], b"")
        if entry.name.endswith(TEMPORARY) or entry.size == len(rowless):
            if entry.age_s > EMPTY_S:
                disk.delete(entry.path)
        elif unnamed_s > GRACE_S:
            disk.write(entry.path, rowless)
    markers = (entry for entry in disk.files(FOLDER) if entry.name == MARKER and entry.age_s > FORGOTTEN_S)
    for path in {entry.path.rpartition("/")[0] for entry in markers} - {kept.root}:
        for entry in disk.files(path):
            disk.delete(entry.path)


def _replaced(disk: Disk, root: str) -> Iterator[tuple[Entry, float]]:
    """Yield the files of replaced parts, with the seconds since a view last named any of their rows."""
    found = disk.files(root)
    written = {_part_of(entry): entry.age_s for entry in found if entry.path.startswith(f"{root}/{INDEX}/")}
    with connected(store=disk.url) as connection:
        files = f"read_parquet({literal(f'{disk.url}/{root}/{INDEX}/*.parquet')}, hive_partitioning=false)"
        later = f"SELECT {PART}, lead({PART}) OVER (PARTITION BY {KEY} ORDER BY {PART}) AS later FROM {files}"
        asked = f"SELECT {PART}, bool_or(later IS NULL), list(DISTINCT later) FROM ({later}) GROUP BY {PART}"
        parts = {part: (counts, later) for part, counts, later in connection.sql(asked).fetchall()}
    for entry in found:
        counts, later = parts.get(_part_of(entry), (False, []))
        if entry.name not in (SEED, MARKER) and not counts:
            # The index has no row of this part: its writer was killed, or its own index rows were already removed.
            yield entry, min((written[one] for one in later), default=entry.age_s)


def _part_of(entry: Entry) -> str:
    return entry.name.removeprefix("part-").removesuffix(".parquet")


def collect(disk: Disk, grace_s: float) -> tuple[str, ...]:
    """Delete parts that were replaced more than `grace_s` seconds ago, of all definitions; return their paths."""
    removed: list[str] = []
    with disk.lock(exclusive=True, name=".judging"):
        for root in sorted({entry.path.rpartition("/")[0] for entry in disk.files(FOLDER) if entry.name == MARKER}):
            for entry, unnamed_s in _replaced(disk, root):
                if min(unnamed_s, entry.age_s) >= grace_s:
                    disk.delete(entry.path)
                    removed.append(entry.path)
    return tuple(removed)


def _merge(disk: Disk, kept: Materialized) -> None:
    """Merge all parts into one, sorted by instance."""
    part = _new_part()
    with connected(store=disk.url) as connection:
        source = kept_source(disk, kept)
        connection.execute(f"CREATE TABLE {INDEX} AS {select_index(source)}")
        for name in kept.names:
            query = f"SELECT *, {literal(part)} AS {PART} FROM ({select_kept(name, source)}) ORDER BY {KEY}"
            reader = connection.sql(query).to_arrow_reader(122_880)
            path = f"{kept.root}/{name}/part-{part}.parquet"
            with disk.create(path) as sink, pq.ParquetWriter(sink, reader.schema, **WRITING) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        judged = connection.sql(f"SELECT {KEY}, inputs FROM {INDEX} ORDER BY {KEY}").fetchall()
    _write_index(disk, kept, part, judged)
