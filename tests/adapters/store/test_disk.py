"""The same store on another file system of pyarrow, without renames or locks of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs as arrow_fs
from store_rows import facts, run

from tasks.adapters.store import disk as disks
from tasks.adapters.store.disk import LocalDisk, ObjectDisk, open_disk
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import BadInput
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(str(tmp_path))
    system = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    store.disk = ObjectDisk(system, "bucket/prefix", "other://bucket/prefix")
    monkeypatch.setattr(disks, "_OPENED", {store.disk.url: store.disk})
    return store


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
