"""Compaction changes no answer, at whatever moment it is killed, and whoever reads or writes meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import RUN, facts, run

from tasks.adapters.store.maintenance.compaction import PACK
from tasks.adapters.store.tables.reading import steadily
from tasks.adapters.store.tables.store import Store
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.tables import TABLES

from test_store import changed, snapshot  # isort: skip

COMPACT = "import sys; from tasks.adapters.store.tables.store import Store; Store(sys.argv[1]).compact(grace_s=0)"
PROJECT = Path(__file__).resolve().parents[3]


def fill(store: Store, first: int, count: int, **changes: Any) -> None:
    for number in range(first, first + count):
        one = run(number, **changes)
        store.write_run(one, *facts(one))


def everything(store: Store) -> dict[str, Counter[Any]]:
    """Every row that counts, with how often it does."""
    return {kind.__name__: Counter(store.read(kind)) for kind in TABLES}


def counted(store: Store) -> tuple[Counter[Any], Counter[Any]]:
    """Runs and outcomes only."""
    return Counter(store.read(Run)), Counter(store.read(CaseOutcome))


def parquet_files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*.parquet") if "schema=current" not in path.parts]


@pytest.mark.slow
def test_compaction_changes_no_answer(store: Store, root: Path) -> None:
    fill(store, 0, 4)
    fill(store, 4, 3, repo="django/django")
    store.write_run(run(9, status=RunStatus.INFRASTRUCTURE, cases=0))
    for number in range(3):
        store.write(changed("i", number + 1), key=f"i{number}")
        store.write([snapshot("a", number)])
    before, keys = everything(store), store.run_keys()
    done = store.compact(grace_s=0)
    assert everything(store) == before
    assert store.run_keys() == keys
    assert (done.packs, done.merged) == (4, 4 * 7 + 1 + 6)
    assert len(parquet_files(root)) == 4 * 2 + 2
    assert store.check() == ()
    assert store.compact(grace_s=0).packs == 0


def test_what_is_asked_of_some_runs_opens_no_file_of_others(store: Store, root: Path) -> None:
    fill(store, 0, 3)
    store.compact(grace_s=0)
    fill(store, 3, 3)
    store.write_run(run(3, status=RunStatus.INFRASTRUCTURE, cases=0))
    everything_of = {kind: store.read(kind) for kind in (Run, CaseOutcome)}
    wanted = (run(1).run_key, run(3).run_key)
    (there,) = [path for path in parquet_files(root) if path.name == f"part-{run(4).run_key}.parquet"]
    there.write_bytes(b"torn")
    for kind, rows in everything_of.items():
        some = store.read(kind, run_key=wanted)
        assert Counter(some) == Counter(row for row in rows if row.run_key in wanted)
        assert {row.run_key for row in some} == set(wanted)
        assert {row.run_key for row in store.read(kind, run_key=wanted[1])} == {wanted[1]}
        assert store.read(kind, run_key=()) == ()
    assert there.read_bytes() == b"torn", "nobody has found it and moved it aside"


@pytest.mark.slow
def test_compaction_goes_on_from_what_is_packed(store: Store, root: Path) -> None:
    for first in (0, 3, 6):
        fill(store, first, 3)
        before = everything(store)
        store.compact(grace_s=0)
        assert everything(store) == before
    assert len(parquet_files(root)) == 4
    assert len(store.run_keys()) == 9


def test_nothing_is_deleted_before_the_grace_period(store: Store, root: Path) -> None:
    fill(store, 0, 3)
    before, files = everything(store), set(parquet_files(root))
    store.compact(grace_s=0.0)
    fill(store, 0, 3)
    store.write_run(run(0, detail="later", minute=5), *facts(run(0)))
    assert store.read(Run, run_key=run(0).run_key)[0].detail == "later"
    assert everything(store)["CaseOutcome"] == before["CaseOutcome"]
    assert files & set(parquet_files(root))


def test_a_run_written_again_after_it_was_packed_counts_once(store: Store) -> None:
    fill(store, 0, 3)
    store.compact(grace_s=0)
    store.write_run(run(1, minute=1), *facts(run(1), "again"))
    for _ in range(2):
        found = store.read(CaseOutcome, run_key=run(1).run_key)
        assert [row.message for row in found] == ["again", "again"]
        assert store.read(Run, run_key=run(1).run_key) == (run(1, minute=1),)
        store.compact(grace_s=0)


def test_an_infrastructure_run_in_a_pack_gives_way_to_a_settled_one(store: Store) -> None:
    for number in range(2):
        store.write_run(run(number, status=RunStatus.INFRASTRUCTURE, cases=0))
    store.compact(grace_s=0)
    assert store.run_keys() == frozenset()
    fill(store, 0, 2)
    store.compact(grace_s=0)
    assert store.run_keys() == {run(0).run_key, run(1).run_key}
    assert len(store.read(CaseOutcome)) == 4
    assert store.check() == ()


def test_a_torn_file_is_left_out_of_a_pack_and_kept(store: Store, root: Path) -> None:
    fill(store, 0, 3)
    torn = root / "case_outcome" / "repo=pallets__flask"
    victim = next(torn.glob(f"part-{run(1).run_key}*"))
    victim.write_bytes(victim.read_bytes()[:100])
    store.compact(grace_s=0)
    assert [path.name for path in root.rglob("*.torn")] == [victim.name + ".torn"]
    assert len(store.read(CaseOutcome)) == 4


@pytest.mark.slow
def test_a_compaction_killed_at_any_moment_changes_no_answer(store: Store, root: Path) -> None:
    fill(store, 0, 40)
    before, killed = counted(store), 0
    for step in range(8):
        process = subprocess.Popen([sys.executable, "-c", COMPACT, str(root)], cwd=PROJECT)
        time.sleep(0.6 + step * 0.15)
        killed += process.poll() is None
        process.kill()
        process.wait()
        assert counted(store) == before
    assert killed
    store.compact(grace_s=0)
    store.gc(grace_s=0)
    assert counted(store) == before
    assert store.check() == ()
    assert len(parquet_files(root)) == 4


@pytest.mark.slow
def test_readers_and_writers_go_on_while_files_are_merged(store: Store) -> None:
    """A reader sees whole runs, never one twice, and never fewer than before."""
    fill(store, 0, 20)
    done = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        fill(store, 100, 30)
        done.set()

    def compact() -> None:
        while not done.is_set():
            store.compact(grace_s=0.3)

    workers = [threading.Thread(target=guarded, args=(work, failures)) for work in (write, compact)]
    for worker in workers:
        worker.start()
    least = 20
    while not done.is_set():
        found = Counter(row.run_key for row in store.read(CaseOutcome))
        assert set(found.values()) == {RUN.cases}
        assert len(found) >= least
        least = len(found)
    for worker in workers:
        worker.join()
    assert not failures
    assert len(store.run_keys()) == len(store.read(Run)) == 50


def guarded(work: Any, failures: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:
        failures.append(error)


def test_gc_removes_only_what_nothing_needs(store: Store, root: Path) -> None:
    kept, lost = store.put_file(b"kept"), store.put_file(b"lost")
    fill(store, 0, 2, log=kept)
    (root / "run" / "x.parquet.tmp").write_bytes(b"half")
    assert store.gc() == ()
    assert store.gc(grace_s=0) == (f"files/{lost[:2]}/{lost}.gz", "run/x.parquet.tmp")
    assert store.open_file(kept).read() == b"kept"
    assert PACK not in {path.name[:5] for path in parquet_files(root)}


def test_a_file_that_compaction_removed_is_looked_for_again_and_nothing_else_is(root: Path) -> None:
    """DuckDB has several words for it; the search of the whole store for torn files is for files that are there."""
    there = root / "run" / "repo=x" / "part-1.parquet"
    there.parent.mkdir(parents=True)
    asked, searched = [], []

    def ask() -> int:
        asked.append(1)
        if len(asked) == 3:
            pq.write_table(pa.table({"a": [1]}), there)
        return duckdb.connect().sql(f"FROM read_parquet(['{there}'])").count("*").fetchall()[0][0]  # type: ignore[no-any-return]

    assert steadily(ask, on_torn=lambda: searched.append(1)) == 1
    assert (len(asked), searched) == (3, [])
