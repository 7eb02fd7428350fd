"""Torn, foreign and lost files: reported, moved aside, never in the way."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import facts, run

from tasks.adapters.store.tables.store import Store
from tasks.domain.run import CaseOutcome, Run

PROJECT = Path(__file__).resolve().parents[3]
WRITE = """
import sys
sys.path[:0] = [sys.argv[2], sys.argv[2] + "/../../shared"]
from store_rows import facts, run
from tasks.adapters.store.tables.store import Store
for number in range(10_000):
    Store(sys.argv[1]).write_run(run(number), *facts(run(number)))
"""


def write(store: Store, *numbers: int) -> None:
    for number in numbers:
        store.write_run(run(number), *facts(run(number)))


def kinds(store: Store) -> list[str]:
    return [problem.kind for problem in store.check()]


def test_instances_that_another_runner_ran_last_are_named(store: Store) -> None:
    old = run(1, runner_version="old")
    new = run(2, minute=1, runner_version="new")
    store.write_run(old, *facts(old))
    assert [(problem.kind, problem.where) for problem in store.check("new")] == [("stale", "run of pallets__flask-1")]
    assert store.check() == ()
    store.write_run(new, *facts(new))
    assert store.check("new") == ()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 40 + b"PAR1", b"\x00" * 500])
def test_a_torn_file_is_moved_aside_and_reading_goes_on(store: Store, root: Path, content: bytes) -> None:
    write(store, 1, 2)
    torn = root / store.write_run(run(3), *facts(run(3)))
    torn.write_bytes(content)
    assert "torn" in kinds(store)
    assert set(store.read(Run)) == {run(1), run(2)}
    assert torn.with_name(torn.name + ".torn").read_bytes() == content
    assert not torn.exists()
    assert run(3).run_key not in store.run_keys()
    assert set(kinds(store)) == {"quarantined", "orphan"}
    write(store, 3)
    assert kinds(store) == ["quarantined"]


def test_a_second_torn_file_of_one_name_keeps_the_first(store: Store, root: Path) -> None:
    for content in (b"one", b"two"):
        (root / store.write_run(run(1))).write_bytes(content)
        assert len(store.quarantine()) == 1
    assert sorted(path.read_bytes() for path in root.rglob("*.torn")) == [b"one", b"two"]


def test_a_foreign_file_is_moved_aside(store: Store, root: Path) -> None:
    write(store, 1)
    pq.write_table(pa.table({"run_key": ["x"]}), root / "run" / "repo=pallets__flask" / "mine.parquet")
    pq.write_table(pa.table({"run_key": [1], "_part": ["x"]}), root / "run" / "repo=pallets__flask" / "typed.parquet")
    assert kinds(store) == ["foreign", "foreign"]
    assert [problem.detail for problem in store.quarantine()] == [
        "no column _part",
        "run_key is int64, not string",
    ]
    assert store.read(Run) == (run(1),)


def test_damage_inside_a_page_is_found(store: Store, root: Path) -> None:
    path = root / store.write_run(run(1))
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    assert store.quarantine() == ()
    assert kinds(store) == ["torn"]


def test_strays_lost_logs_and_lost_outcomes_are_reported(store: Store, root: Path) -> None:
    log = store.put_file(b"log")
    store.write_run(run(1, log=log, cases=0))
    store.write_run(run(2, log="ab" * 32, cases=0))
    store.write_run(run(3, cases=2))
    (root / "run" / "notes.txt").write_text("mine")
    (root / "files" / log[:2] / f"{log}.gz").write_bytes(b"damaged")
    assert kinds(store) == ["incomplete", "missing-log", "stray", "torn-log"]


@pytest.mark.slow
@pytest.mark.parametrize("delay", [1.2, 1.5, 2.0])
def test_a_writer_killed_at_any_moment_leaves_whole_runs(store: Store, root: Path, delay: float) -> None:
    argv = [sys.executable, "-c", WRITE, str(root), str(Path(__file__).parent)]
    process = subprocess.Popen(argv, cwd=PROJECT)
    time.sleep(delay)
    process.kill()
    process.wait()
    assert set(kinds(store)) <= {"orphan"}
    keys = store.run_keys()
    assert {row.run_key for row in store.read(Run)} == keys
    assert len(store.read(CaseOutcome)) == 2 * len(keys)
    store.gc(grace_s=0)
    assert store.check() == ()


@pytest.mark.slow
def test_several_writers_at_once(store: Store, root: Path) -> None:
    program = WRITE.replace("range(10_000)", "range(int(sys.argv[3]), int(sys.argv[3]) + 15)")
    argv = [sys.executable, "-c", program, str(root), str(Path(__file__).parent)]
    writers = [subprocess.Popen([*argv, str(first)], cwd=PROJECT) for first in (0, 10)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(store.run_keys()) == 25
    assert len(store.read(CaseOutcome)) == 50
    assert store.check() == () or set(kinds(store)) == {"orphan"}


def test_a_store_that_was_copied_as_files_is_checked(store: Store, tmp_path: Path) -> None:
    """A complete copy has the same rows; `check` finds a copy that lacks outcomes or a log."""
    log = store.put_file(b"log")
    store.write_run(run(1, log=log), *facts(run(1)))
    copied = Store(str(tmp_path / "copied"))
    shutil.copytree(store.url, copied.url)
    assert kinds(copied) == []
    assert copied.read(Run) == store.read(Run)
    assert copied.read(CaseOutcome) == store.read(CaseOutcome)
    for folder in ("files", "case_outcome"):
        shutil.rmtree(Path(copied.url) / folder)
    assert kinds(copied) == ["incomplete", "missing-log"]
