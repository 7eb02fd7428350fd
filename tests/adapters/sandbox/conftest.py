"""One bench for all kinds of sandboxes: a checkout, an outbox, and Python programs as jobs."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from sandbox_bench import Bench, new_bench

from tasks.adapters.sandbox.base import Mount
from tasks.adapters.sandbox.docker.budget import LAYER
from tasks.adapters.sandbox.docker.engine import connected
from tasks.adapters.sandbox.docker.layers import parse_image_tag
from tasks.adapters.sandbox.docker.sandbox import Docker
from tasks.adapters.sandbox.select import ENTRIES, SandboxEntry
from tasks.adapters.sandbox.supervisor import tree
from tasks.domain.outcome import SandboxKind

why_not = cache(lambda entry: entry.why_not())
"""Each kind is tried once for all tests."""

KINDS = [
    pytest.param(entry, id=str(entry.kind), marks=[getattr(pytest.mark, str(entry.kind))] if entry.isolating else [])
    for entry in ENTRIES
]


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Every kind of sandbox that works here."""
    return _bench_of(request.param, tmp_path)


@pytest.fixture(params=[kind for kind in KINDS if kind.values[0].isolating])
def isolating(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Every kind that says it isolates, and works here."""
    return _bench_of(request.param, tmp_path)


@pytest.fixture
def docker_bench(tmp_path: Path) -> Bench:
    """The container sandbox, where it works here."""
    return _bench_of(next(entry for entry in ENTRIES if entry.kind is SandboxKind.DOCKER), tmp_path)


@pytest.fixture
def client(docker_bench: Bench) -> Iterator[Any]:
    """The engine of the container sandbox."""
    assert isinstance(docker_bench.sandbox, Docker)
    with connected(docker_bench.sandbox.settings) as found:
        yield found


@pytest.fixture
def tags(client: Any) -> Callable[[Sequence[str]], list[str]]:
    """Tags of the layers with these contents, those first that stand on others."""

    def find(contents: Sequence[str]) -> list[str]:
        layers = sorted(client.images(filters={"label": LAYER}), key=lambda facts: -facts["Created"])
        names = [(tag, parse_image_tag(tag)) for facts in layers for tag in facts["RepoTags"] or []]
        return [tag for tag, name in names if name is not None and name.content in contents]

    return find


@pytest.fixture
def folder(client: Any, tags: Callable[[Sequence[str]], list[str]]) -> Iterator[Callable[[str, int], Mount]]:
    """Makes folders that never change, and forgets their layers afterwards. Not below /tmp: that is the run's own."""
    made: list[str] = []
    root = Path(tempfile.mkdtemp(prefix="swt-test-", dir=Path.home()))
    root.chmod(0o755)

    def make(name: str, size: int) -> Mount:
        path = root / name
        path.mkdir()
        (path / "data").write_bytes(os.urandom(size))
        made.append(f"test.{os.getpid()}.{name}")
        return Mount(path, PurePosixPath(path), content=made[-1])

    yield make
    for tag in tags(made):
        client.remove_image(tag, force=True)
    shutil.rmtree(root)


def _bench_of(entry: SandboxEntry, root: Path) -> Bench:
    if reason := why_not(entry):
        pytest.skip(f"{entry.kind}: {reason}")
    return new_bench(entry.make(Path(tempfile.gettempdir())), root)


@pytest.fixture
def alive() -> Callable[[str], list[int]]:
    """Processes of the host whose command line holds a word."""

    def find(word: str) -> list[int]:
        return [process.pid for process in tree.everyone() if word.encode() in command_line(process.pid)]

    return find


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait for something to become true; what never does is ended by the test's own limit."""

    def wait(condition: Callable[[], object]) -> None:
        while not condition():
            time.sleep(0.02)

    return wait


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
