"""How the tests are spread over processes: `make test` starts four for two cores, and hands out whole files."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tasks.domain.errors import NotFound
from tests.fakes.services import PostgreSql, postgresql

# No test fails by the clock: on a busy machine an example takes a hundred times as long.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


ENGINE = "tests/adapters/sandbox/"
"""Tests that count the mounts and images of the machine, and those that make some, take turns."""


class WholeFiles(LoadFileScheduling):
    """A file's tests share what they set up. xdist's groups do the same, but not since pytest 9.2: they are written
    into ids that are not its own any more."""

    def _split_scope(self, nodeid: str) -> str:
        return ENGINE if nodeid.startswith(ENGINE) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """What `--numprocesses` hands out at a time."""
    return WholeFiles(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Tests wait for servers, workers and time limits half of their time, so there is room for two on each core."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a slow test come first: begun last, one would leave all other cores without work at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("docker")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def database() -> Iterator[PostgreSql]:
    """A PostgreSQL server of the tests' own."""
    try:
        with postgresql() as started:
            yield started
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")
