"""A server of packages on this machine: a real one as far as uv can tell, with upload times."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.select import ENTRIES, pick
from tasks.adapters.uv.builder import Builder


def wheel_of(name: str, version: str, requires: tuple[str, ...]) -> bytes:
    """A wheel with one module that knows its version."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def source_of(name: str, version: str, files: dict[str, str]) -> bytes:
    """A source distribution with these files; its metadata says that building it decides what it needs."""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in {"PKG-INFO": metadata, **files}.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass
class PackageServer:
    """Wheels by file name, with their upload times; `asked` is what was requested."""

    wheels: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    def upload_source(self, name: str, version: str, when: str, files: dict[str, str]) -> None:
        """A source distribution, which has to be built."""
        self.wheels[f"{name}-{version}.tar.gz"] = (name, when, source_of(name, version, files))

    def upload(self, name: str, version: str, when: str, *requires: str) -> None:
        self.wheels[f"{name}-{version}-py3-none-any.whl"] = (name, when, wheel_of(name, version, requires))

    @property
    def address(self) -> str:
        return f"http://someone:secret@127.0.0.1:{self.port}/all"

    def page(self, name: str) -> bytes:
        files = [
            {
                "filename": file,
                "url": f"/files/{file}",
                "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
                "upload-time": when,
            }
            for file, (project, when, data) in self.wheels.items()
            if project == name
        ]
        return json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()


def handler(packages: PackageServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            packages.asked.append(f"{self.command} {self.path}")
            last = self.path.rstrip("/").rpartition("/")[2]
            if self.path.startswith("/files/"):
                self.answer("application/zip", packages.wheels[last][2])
            elif any(project == last for project, _, _ in packages.wheels.values()):
                self.answer("application/vnd.pypi.simple.v1+json", packages.page(last))
            else:
                self.send_error(404)

        def answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def packages() -> Iterator[PackageServer]:
    packages = PackageServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(packages))
    packages.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield packages
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def surroundings(tmp_path: Path, packages: PackageServer) -> dict[str, str]:
    """What uv is started with: this server alone, and a cache of the test's own."""
    return {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "UV_DEFAULT_INDEX": packages.address,
        "UV_HTTP_RETRIES": "0",
        "UV_PYTHON_DOWNLOADS": "never",
    }


@pytest.fixture
def builder(tmp_path: Path, surroundings: dict[str, str]) -> Builder:
    """Builds behind the gate, as it is used; where nothing isolates, as trusted code."""
    return builder_in(pick(None, trusted=True, base=tmp_path), tmp_path, surroundings)


def builder_in(sandbox: Sandbox, folder: Path, environ: dict[str, str]) -> Builder:
    return Builder(cache=folder / "cache", environ=environ, sandbox=sandbox, scratch=folder / "scratch", timeout_s=120)


@pytest.fixture(params=["process", "bubblewrap", "docker"])
def each_builder(request: pytest.FixtureRequest, tmp_path: Path, surroundings: dict[str, str]) -> Builder:
    """A builder for every kind of sandbox that works here."""
    entry = next(entry for entry in ENTRIES if str(entry.kind) == request.param)
    if reason := entry.why_not():
        pytest.skip(f"{entry.kind}: {reason}")
    return builder_in(entry.make(tmp_path), tmp_path, surroundings)
