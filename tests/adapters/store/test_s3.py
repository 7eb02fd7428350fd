"""The store on a real S3 server, SeaweedFS: its endpoint and keys reach every reader, and every question is answered.

Twenty seconds, most of them the server's start and the requests of one file of views: nothing else shows that an
upload, a listing and a ranged read of S3 are what the store takes them for.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from store_rows import facts, run

from tasks.adapters.store.files.disk import open_disk
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import build_views, ensure_views, query
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.errors import NotFound
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES
from tests.fakes.failing_proxy import FailingProxy
from tests.fakes.services import KEYS, Seaweed, seaweed, store_url

pytestmark = pytest.mark.s3

FAILING = 101
"""Requests that fail, at least."""
AWAY_S = 4.0
"""Longer than pyarrow tries by itself."""
RUNS = 20
PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """One that asks for keys, in a folder of its own."""
    try:
        with seaweed(tmp_path_factory.mktemp("weed")) as started:
            yield started
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")


@pytest.fixture
def url(server: Seaweed) -> str:
    return store_url(server.address, "store")


def test_a_store_on_s3(url: str, tmp_path: Path) -> None:
    """Written, asked by views and by flows, compacted and asked again, read after more was written;
    and no key is in the file of views."""
    store, database = Store(url), tmp_path / "swt.duckdb"
    log = store.put_file(b"log")
    store.write_run(run(9, status=RunStatus.INFRASTRUCTURE, cases=0))
    for number in range(4):
        store.write_run(run(number, log=log), *facts(run(number)))
    build_views(url, database, PROJECT / "sql")
    asked = "SELECT count(*) AS n FROM case_outcome"
    assert query(database, asked)["n"].to_pylist() == [8]
    assert {row.run_key for row in store.read(Run)} == store.run_keys() | {run(9).run_key}
    assert store.compact(grace_s=0).packs == 1
    store.write_run(run(5), *facts(run(5)))
    ensure_views(url, database, PROJECT / "sql")
    (told,) = answers(url, PROJECT / "sql", ("case_outcome",), (asked,))
    assert told["n"].to_pylist() == query(database, asked)["n"].to_pylist() == [10]
    assert len(store.read(CaseOutcome, run_key=run(5).run_key)) == 2
    assert store.open_file(log).read() == b"log"
    assert store.check() == ()
    assert not [key for key in (*KEYS, quote(KEYS[1], safe="")) if key.encode() in database.read_bytes()]


def test_a_torn_object_is_moved_aside(url: str, tmp_path: Path) -> None:
    store = Store(url.replace("/store?", "/torn?"))
    store.write_run(run(1), *facts(run(1)))
    torn = store.write_run(run(2))
    store.disk.write(torn, b"torn")
    assert [row.run_key for row in store.read(Run)] == [run(1).run_key]
    assert [problem.kind for problem in store.check()] == ["quarantined"]


def test_whoever_fails_often_is_asked_again_each_time(server: Seaweed) -> None:
    """With pyarrow's usual strategy the retries of a process come to an end after a hundred."""
    proxy = FailingProxy(server.address, 0.4, random.Random(5))
    with proxy.serve() as address:
        disk = open_disk(store_url(address, "failing"))
        for number in range(FAILING // 2):
            disk.write(f"{number}", b"kept")
            assert disk.size(f"{number}") == len(b"kept")
            assert disk.read(f"{number}") == b"kept"
        assert len(disk.files("")) == FAILING // 2
    assert proxy.failed > FAILING


def test_a_small_file_is_one_request(server: Seaweed) -> None:
    proxy = FailingProxy(server.address, 0.0, random.Random(5))
    with proxy.serve() as address:
        open_disk(store_url(address, "small")).write("a", b"kept")
    assert proxy.asked == 1


def test_a_check_reads_each_file_twice(server: Seaweed) -> None:
    """Whether it is whole, and its rows; each time how big it is, and all of it. It was ten requests for each file."""
    proxy = FailingProxy(server.address, 0.0, random.Random(5))
    with proxy.serve() as address:
        store = Store(store_url(address, "checked"))
        for number in range(RUNS):
            store.write_run(run(number), *facts(run(number)))
        files = sum(len(store.disk.files(table_name(kind))) for kind in TABLES)
        before = proxy.asked
        assert store.check() == ()
        looked_at = proxy.asked - before
    assert files > 2 * RUNS
    assert looked_at <= 4 * files + 2 * len(TABLES), f"{looked_at} requests for {files} files"


def test_a_server_that_is_restarted_is_waited_for(server: Seaweed, url: str) -> None:
    store = Store(url.replace("/store?", "/away?"))
    store.write_run(run(1), *facts(run(1)))
    server.kill()
    starting = threading.Timer(AWAY_S, server.start)
    starting.start()
    try:
        store.write_run(run(2), *facts(run(2)))
    finally:
        starting.join()
    assert store.run_keys() == {run(1).run_key, run(2).run_key}
    assert store.check() == ()
