"""Writing, reading and the ledger."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from store_rows import NOON, RUN, facts, run

from tasks.adapters.store.files.layout import run_file, run_of_file
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.instance import ChangedLine, Snapshot
from tasks.domain.model_fact import ModelFact
from tasks.domain.names import InstanceKey, LineNo, RepoPath
from tasks.domain.outcome import CodeState, RunStatus
from tasks.domain.run import CaseOutcome, LineHit, Run, WatchedFile

BROKEN = RunStatus.INFRASTRUCTURE


def snapshot(name: str, instances: int = 1) -> Snapshot:
    return Snapshot(snapshot=name, instances=instances, content="c", source="s.jsonl", created_at=NOON)


def changed(key: str, *lines: int) -> list[ChangedLine]:
    path = RepoPath("a.py")
    return [ChangedLine(instance_key=InstanceKey(key), path=path, side=CodeState.AFTER, line=LineNo(n)) for n in lines]


def test_a_run_comes_back_with_its_facts(store: Store) -> None:
    one = run(1)
    cases, hits, watched = facts(one)
    path = store.write_run(one, cases, hits, watched)
    assert path == f"run/repo=pallets__flask/part-{one.run_key}.parquet"
    assert store.read(Run) == (one,)
    assert store.read(CaseOutcome) == tuple(cases)
    assert store.read(LineHit, run_key=one.run_key) == tuple(hits)
    assert store.read(WatchedFile, run_key=("x", one.run_key)) == tuple(watched)
    assert store.run_keys() == {one.run_key}
    assert store.check() == ()


def test_an_empty_store_reads_as_empty(store: Store) -> None:
    assert store.read(CaseOutcome) == ()
    assert store.run_keys() == frozenset()
    assert store.check() == ()
    assert store.compact(grace_s=0).packs == 0
    assert store.gc() == ()


def test_writing_a_run_again_replaces_it_with_its_facts(store: Store) -> None:
    for message in ("first", "second", "second"):
        one = run(1, detail=message)
        store.write_run(one, *facts(one, message))
    assert [row.detail for row in store.read(Run)] == ["second"]
    assert [row.message for row in store.read(CaseOutcome)] == ["second", "second"]
    assert len(store.gc(grace_s=0)) == 3
    assert [row.message for row in store.read(CaseOutcome)] == ["second", "second"]


def test_infrastructure_is_not_in_the_ledger_and_never_hides_a_settled_run(store: Store) -> None:
    store.write_run(run(1, status=BROKEN))
    assert store.run_keys() == frozenset()
    assert [row.status for row in store.read(Run)] == [BROKEN]
    store.write_run(run(1, minute=1), *facts(run(1)))
    store.write_run(run(1, minute=2, status=BROKEN, cases=0))
    assert store.run_keys() == {run(1).run_key}
    assert [row.status for row in store.read(Run)] == [RunStatus.COMPLETED]
    assert len(store.read(CaseOutcome)) == 2


def test_facts_without_their_run_do_not_count(store: Store, root: Path) -> None:
    (root / store.write_run(run(1), *facts(run(1)))).unlink()
    store.write_run(run(2), *facts(run(2)))
    assert {row.run_key for row in store.read(CaseOutcome)} == {run(2).run_key}
    assert [problem.kind for problem in store.check()] == ["orphan"] * 3
    assert len(store.gc(grace_s=0)) == 3
    assert store.check() == ()


def test_the_ledger_reads_file_names() -> None:
    assert run_of_file(run_file("ab12", settled=True)) == "ab12"
    assert run_of_file(run_file("ab12", settled=False)) is None


def test_the_same_key_is_replaced_and_the_latest_write_counts(store: Store) -> None:
    first = store.write(changed("i", 1, 2, 3), key="i")
    assert first == "changed_line/group=all/part-i.parquet"
    assert store.write(changed("i", 4), key="i") == first
    assert [row.line for row in store.read(ChangedLine)] == [4]
    store.write(changed("i", 5, 6), key="another file")
    store.write(changed("j", 1))
    assert sorted(row.line for row in store.read(ChangedLine, instance_key="i")) == [5, 6]


def test_equal_rows_without_a_key_make_one_file(store: Store, root: Path) -> None:
    assert store.write([snapshot("a")]) == store.write([snapshot("a")])
    store.write([snapshot("a", 2)])
    assert len(list(root.rglob("*.parquet"))) == 2
    assert store.read(Snapshot) == (snapshot("a", 2),)


def test_folders_are_named_after_the_rows(store: Store) -> None:
    assert store.write([snapshot("2026-11")], key="k") == "snapshot/snapshot=2026-11/part-k.parquet"
    assert store.write([snapshot("a"), snapshot("b")], key="k") == "snapshot/snapshot=mixed/part-k.parquet"
    assert store.write([snapshot("a")], key="k", partition="x/y") == "snapshot/snapshot=x__y/part-k.parquet"
    assert store.write([snapshot("a")], key="../k").startswith("snapshot/snapshot=a/part-")
    assert ".." not in store.write([snapshot("..")], key="../k").replace("snapshot=..", "")


def test_nothing_is_written_for_no_rows(store: Store, root: Path) -> None:
    assert store.write([]) == ""
    assert not root.exists()


@pytest.mark.parametrize("packed", [False, True], ids=["in its own file", "in a pack"])
def test_what_is_replaced_by_nothing_is_gone(store: Store, packed: bool) -> None:
    """Also where compaction has moved the rows of before elsewhere, and for good."""
    one, other = (changed(name, 1, 2) for name in "ij")
    store.replace(ChangedLine, one, key="i", instance_key="i")
    store.write(other)
    if packed:
        store.compact(grace_s=0)
    store.replace(ChangedLine, [], key="i", instance_key="i")
    assert store.read(ChangedLine) == tuple(other)
    store.compact(grace_s=0)
    assert store.read(ChangedLine) == tuple(other)
    assert store.check() == ()
    store.replace(ChangedLine, one[:1], key="i", instance_key="i")
    assert Counter(store.read(ChangedLine)) == Counter([*other, one[0]])


def test_misuse_is_refused(store: Store) -> None:
    with pytest.raises(BadInput, match="replaced by instance_key"):
        store.replace(ChangedLine, changed("i", 1), key="i", instance_key="j")
    with pytest.raises(BadInput, match="write_run"):
        store.write([RUN])
    with pytest.raises(BadInput, match="one write is one table"):
        store.write([snapshot("a"), *changed("i", 1)])
    with pytest.raises(BadInput, match="has no column colour"):
        store.read(Run, colour="red")
    with pytest.raises(BadInput, match="is not a store"):
        Store("nowhere://x")


def test_where_matches_null_enums_and_times(store: Store) -> None:
    store.write_run(replace(run(1), cpu_s=2.0))
    store.write_run(run(2, status=RunStatus.TIMEOUT))
    assert [row.cpu_s for row in store.read(Run, cpu_s=None)] == [None]
    assert store.read(Run, status=RunStatus.TIMEOUT) == (run(2, status=RunStatus.TIMEOUT),)
    assert len(store.read(Run, finished_at=NOON)) == 2
    assert store.read(Run, run_key=()) == ()


def test_files_are_kept_by_their_content(store: Store, root: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"hello\n" * 1000)
    sha = store.put_file(tmp_path / "log")
    assert store.put_file(b"hello\n" * 1000) == sha
    assert [path.stat().st_size < 200 for path in root.rglob("*.gz")] == [True]
    with store.open_file(sha) as content:
        assert content.read() == b"hello\n" * 1000
    with pytest.raises(NotFound):
        store.open_file("0" * 64)


def test_a_file_url_is_the_same_store(store: Store, root: Path) -> None:
    store.write_run(run(1), *facts(run(1)))
    assert Store(root.as_uri()).read(Run) == (run(1),)


def test_what_replaces_a_file_at_the_same_moment_is_read(store: Store, root: Path) -> None:
    """Nothing that DuckDB remembers of a file may outlive the question.

    It knows a file by path, inode, size and time; a file system gives the inode of one that went to the next, and the
    times of two files that are written in one tick of the kernel's clock are the same.
    """
    chance, tick = Random(1), 1_700_000_000_000_000_000
    for _ in range(60):
        share = chance.randrange(10, 90)
        words, more = chance.randbytes(share).hex(), chance.randbytes(100 - share).hex()
        fact = ModelFact(model="m", provider=words, cutoff=None, context=7, source=more)
        path = [store.write([fact], key="same") for _ in range(2)][-1]
        os.utime(root / path, ns=(tick, tick))
        assert store.read(ModelFact) == (fact,)
