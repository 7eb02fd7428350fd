"""The same store on another file system of pyarrow, without renames or locks of ours."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs as arrow_fs
from store_rows import facts, run

from tasks.adapters.store.files import disk as disks
from tasks.adapters.store.files.disk import LocalDisk, ObjectDisk, open_disk
from tasks.adapters.store.files.duckdb_connection import as_fsspec
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import BadInput, StoreAway
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(str(tmp_path))
    system = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    store.disk = ObjectDisk(system, "bucket/prefix", "other://bucket/prefix")
    monkeypatch.setattr(disks, "_OPENED", {store.disk.url: store.disk})
    return store


@pytest.mark.slow
def test_a_store_in_an_object_store(remote: Store, tmp_path: Path) -> None:
    log = remote.put_file(b"log")
    remote.write_run(run(9, status=RunStatus.INFRASTRUCTURE, cases=0))
    for number in range(3):
        remote.write_run(run(number, log=log), *facts(run(number)))
    before = set(remote.read(CaseOutcome))
    assert len(before) == 6
    torn = remote.write_run(run(7))
    (tmp_path / "bucket" / "prefix" / torn).write_bytes(b"torn")
    assert remote.compact(grace_s=0).packs == 1
    assert set(remote.read(CaseOutcome)) == before
    assert {row.run_key for row in remote.read(Run)} == remote.run_keys() | {run(9).run_key}
    assert remote.open_file(log).read() == b"log"
    assert [problem.kind for problem in remote.check()] == ["quarantined"]
    assert remote.gc(grace_s=0) == ()


def test_nothing_is_published_when_writing_fails(tmp_path: Path, remote: Store) -> None:
    for disk in (LocalDisk(tmp_path / "local"), remote.disk):
        with pytest.raises(TypeError), disk.create("run/x.parquet") as sink:
            sink.writelines([b"half", "text"])
        assert disk.files("run") == []


class Failing(BytesIO):
    """What a server sends that fails in the middle."""

    def read(self, size: int | None = -1) -> bytes:
        raise OSError("AWS Error INTERNAL_FAILURE during GetObject operation: try later")

    readinto = read  # type: ignore[assignment]


def fail(*_: object, **__: object) -> pa.NativeFile:
    return pa.PythonFile(Failing(b"x" * 100), mode="r")


@pytest.mark.parametrize("of", [LocalDisk, ObjectDisk])
def test_what_cannot_be_read_now_is_not_moved_aside(
    of: type[LocalDisk | ObjectDisk], remote: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was: a server that answered 500 for a while cost the rows of healthy files, and their runs were made again."""
    store = remote if of is ObjectDisk else Store(str(tmp_path / "local"))
    store.write_run(run(1), *facts(run(1)))
    log = store.put_file(b"log")
    with monkeypatch.context() as for_now:
        for_now.setattr(of, "source", fail)
        for_now.setattr(of, "read", lambda disk, path: fail().read())
        for look in (store.quarantine, store.check, lambda: store.read(Run)):
            with pytest.raises(OSError, match="try later"):
                look()
    assert [row.run_key for row in store.read(Run)] == [run(1).run_key]
    assert store.check() == ()
    assert log


def test_a_store_that_does_not_answer_is_a_failure_of_ours(remote: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        type_name = "s3"

        def __getattr__(self, name: str) -> Callable[..., None]:
            def refuse(*_: object, **__: object) -> None:
                raise OSError("When doing that:\nAWS Error ACCESS_DENIED during it")

            return refuse

    disk = ObjectDisk(Refusing(), "bucket/prefix", "s3://bucket/prefix")
    asks = (disk.files, disk.read, disk.size, disk.delete, lambda path: disk.rename(path, "b"))
    for ask in (*asks, lambda path: disk.source(path).__enter__()):
        with pytest.raises(StoreAway, match="s3://bucket/prefix/run is not to be had: AWS Error ACCESS_DENIED"):
            ask("run")
    with pytest.raises(StoreAway):
        disk.write("run", b"")
    remote.disk.write("run", b"kept")
    with pytest.raises(StoreAway, match="run is not to be had: AWS Error INTERNAL"), remote.disk.source("run"):
        fail().read()
    with pytest.raises(OSError, match="thrift"), remote.disk.source("run"):
        raise OSError("thrift")  # a torn file's


def test_a_file_that_is_read_on_several_threads_at_once(remote: Store) -> None:
    """DuckDB seeks and then reads, on as many threads as it likes: of a file of some megabytes in an object store one
    thread got what another one had asked for."""
    data = random.Random(0).randbytes(1 << 20)
    remote.disk.write("large", data)
    assert isinstance(remote.disk, ObjectDisk)
    with as_fsspec(remote.disk).open("other://bucket/prefix/large", "rb") as file, ThreadPoolExecutor(8) as threads:

        def differs(seed: int) -> bool:
            at, size = random.Random(seed).randrange(len(data)), 1000 + seed
            file.seek(at)
            return bool(file.read(size) != data[at : at + size])

        assert sum(threads.map(differs, range(4000))) == 0
        assert (file.seek(-3, 2), file.read(), file.read(5), file.tell()) == (len(data) - 3, data[-3:], b"", len(data))
        assert (file.seek(7), file.seek(3, 1), file.tell()) == (7, 10, 10)
    assert file.closed


def test_roots(tmp_path: Path) -> None:
    assert open_disk(str(tmp_path)) == open_disk(tmp_path.as_uri()) == LocalDisk(tmp_path)
    assert open_disk("s3://bucket/prefix/?region=eu-west-1").url == "s3://bucket/prefix"


@pytest.mark.parametrize(
    "root", ["s3://AKEY:sec%2Fret@bucket/swt?region=x&endpoint_override=%zz", "nofs://AKEY:sec%2Fret@bucket/swt"]
)
def test_a_key_in_the_url_is_in_no_message(root: str) -> None:
    with pytest.raises(BadInput) as refused:
        open_disk(root)
    said = f"{refused.value} {refused.value.__cause__}"
    assert "bucket" in said
    assert not [secret for secret in ("AKEY", "sec%2Fret", "sec/ret") if secret in said]


def test_one_url_is_one_store_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept in memory of a store, its ledger among it, is found by the URL without endpoint and keys."""
    monkeypatch.setattr(disks, "_OPENED", {})
    one = "s3://bucket/swt?region=us-east-1&endpoint_override=localhost:1"
    assert open_disk(one) is open_disk(one) is open_disk("s3://bucket/swt")
    with pytest.raises(BadInput, match="another store"):
        open_disk(one + "2")


def test_a_key_in_the_url_is_in_no_view() -> None:
    """DuckDB takes its key from a secret of its own."""
    disk = open_disk("s3://AKEY:sec%2Fret@bucket/swt?region=us-east-1&endpoint_override=localhost:1")
    assert disk.url == "s3://bucket/swt"
