"""A warehouse of its own for every test, and the demo project in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.sandbox.select import available
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits

LIMITS = Limits(wall_s=60.0, memory_mb=1024, processes=128, disk_mb=64, log_mb=1)


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the demo's mirror, shared by the tests of a session."""
    cache = tmp_path_factory.mktemp("cache")
    build_demo_mirror(Settings(cache=cache))
    return cache


@pytest.fixture(scope="session")
def best_sandbox() -> SandboxKind:
    """The sandbox that `auto` would take for trusted code."""
    return next(probe.kind for probe in available() if probe.usable)


def warehouse(folder: Path, cache: Path, sandbox: SandboxKind) -> Settings:
    """Settings of a warehouse of its own, with the demo imported."""
    made = Settings(
        store=str(folder / "store"),
        cache=cache,
        database=folder / "swt.duckdb",
        sandbox=sandbox,
        trusted=True,
        workers=2,
        limits=LIMITS,
    )
    import_rows(made, DEMO / "instances.jsonl", SNAPSHOT)
    return made


@pytest.fixture
def settings(tmp_path: Path, demo_cache: Path, best_sandbox: SandboxKind) -> Settings:
    """A warehouse for one test."""
    return warehouse(tmp_path, demo_cache, best_sandbox)


@pytest.fixture(scope="module")
def shared_settings(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path, best_sandbox: SandboxKind) -> Settings:
    """A warehouse for all tests of a file."""
    return warehouse(tmp_path_factory.mktemp("warehouse"), demo_cache, best_sandbox)


@pytest.fixture
def fresh_copy(settings: Settings, tmp_path: Path) -> Settings:
    """The same warehouse once more, elsewhere, with a scratch folder of its own."""
    copy = tmp_path / "copy"
    shutil.copytree(settings.store, copy)
    return Settings(
        store=str(copy),
        cache=settings.cache,
        database=tmp_path / "copy.duckdb",
        scratch=tmp_path / "scratch",
        sandbox=settings.sandbox,
        trusted=True,
        workers=settings.workers,
        limits=settings.limits,
    )
