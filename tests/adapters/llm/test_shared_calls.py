"""Calls of machines that share an object store: each has a cache of its own, and claims what it asks in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work
from pyarrow import fs as arrow_fs
from test_batches import Deadly, batching, foreseen

from tasks.adapters.coordination.postgres import close_session, open_session, session
from tasks.adapters.llm.batches.desk import BatchClient
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.records.call_rows import row_facts
from tasks.adapters.llm.records.reply_cache import PendingCalls, ReplyCache, open_archive
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.store.files import disk as disks
from tasks.adapters.store.files.disk import ObjectDisk
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import LeaseError
from tasks.domain.llm import CallStatus, LlmCall
from tests.fakes.scripted_provider.server import text_step
from tests.fakes.services import PostgreSql

pytestmark = pytest.mark.postgresql


@pytest.fixture
def shared(database: PostgreSql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store of all machines."""
    open_session(database.url, lease_s=1.0)
    store = Store(str(tmp_path / "unused"))
    (tmp_path / "objects").mkdir()
    system = arrow_fs.SubTreeFileSystem(str(tmp_path / "objects"), arrow_fs.LocalFileSystem())
    store.disk = ObjectDisk(system, "bucket/store", f"other://{tmp_path.name}/store")
    monkeypatch.setattr(disks, "_OPENED", {store.disk.url: store.disk})
    yield store
    close_session()


def board_of(made: Bench, store: Store, machine: str) -> ModelRouter:
    return made.board(archive=open_archive(store, made.folder / machine))


def test_four_machines_ask_once(bench: Benches, shared: Store) -> None:
    made = bench(lambda call: replace(text_step(call.messages[-1].text), wait_s=0.2))
    boards = [board_of(made, shared, f"machine-{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda board: board.model(MODEL, work()).complete(ask("hi")).text, boards))
    assert len(set(told)) == len(made.provider.books) == 1
    left = [path for path in made.folder.rglob("calls-under-way/**/*") if path.is_file()]
    assert left == [], "nothing is left of it, on no machine and in no store"


def test_what_a_machine_that_died_had_asked_is_booked_by_another(bench: Benches, shared: Store) -> None:
    """Its mark is in the store, and the lease of the dead one is over."""
    made = bench([text_step("hello")])
    one, other = board_of(made, shared, "one"), board_of(made, shared, "other")
    one.model(MODEL, work()).complete(ask("hi"))
    (row,) = shared.read(LlmCall)
    lost = replace(row, call_id="lost", call_key="ab12", status=CallStatus.UNKNOWN)
    PendingCalls(shared.disk).write("ab12", json.dumps(row_facts(lost)))
    assert other.recover() == 1
    assert one.recover() == 0
    assert {row.call_id for row in shared.read(LlmCall, status=CallStatus.UNKNOWN)} == {"lost"}


def test_who_lost_the_claim_asks_nobody(bench: Benches, shared: Store) -> None:
    made = bench([text_step("hello")])
    board_of(made, shared, "one").model(MODEL, work()).complete(ask("hi"))
    (row,) = shared.read(LlmCall)
    archive = open_archive(shared, made.folder / "one")
    with archive.claim("ab12") as claim:
        _take_over(archive, "ab12")
        with pytest.raises(LeaseError, match="stood still"):
            claim.begin(row)


def test_the_reply_of_who_took_over_stays(bench: Benches, shared: Store) -> None:
    """Others work with it by now; both rows say what was paid."""
    made = bench([text_step("hello")])
    board_of(made, shared, "one").model(MODEL, work()).complete(ask("hi"))
    archive = open_archive(shared, made.folder / "late")
    (row,) = shared.read(LlmCall)
    known = archive.find(row.call_key)
    assert known
    late = replace(known, reply=replace(known.reply, text="late"), row=replace(row, call_id="late"))
    with archive.claim(row.call_key) as claim:
        _take_over(archive, row.call_key)
        claim.keep(late)
    assert archive.find(row.call_key) == known
    assert {one.call_id for one in shared.read(LlmCall)} == {row.call_id, "late"}


def test_what_a_machine_that_died_had_handed_in_is_kept_by_another(bench: Benches, shared: Store) -> None:
    """Its batch was written down on its own disk, and paid for once more."""
    made = bench(lambda call: text_step(f"a{call.messages[-1].text}", prompt=1000, completion=100))
    deadly = Deadly(made.base_url, made.wire().key, words=2, after=True)
    made.wires.append(deadly)
    one = batching(made, "chat", archive=open_archive(shared, made.folder / "one"), wires={"p": deadly})
    other = batching(made, "chat", archive=open_archive(shared, made.folder / "other"))
    with pytest.raises(KeyboardInterrupt):
        BatchClient(one).ask(foreseen(one, "x", "y"), Meter("sweep", Budget(usd=1.0)))
    assert BatchClient(other).settle() == 1
    assert foreseen(other, "x", "y") == []
    assert (len(made.provider.books), BatchClient(one).settle()) == (2, 0)


def _take_over(archive: ReplyCache, key: str) -> None:
    """Somebody else has the lease, since its owner stood still."""
    opened = session()
    assert opened
    name = f"{archive.scope}/calls-under-way/{key}"
    assert opened.ask("UPDATE swt_lease SET token = 1 WHERE name = %(name)s RETURNING name", name=name)
