"""Test levels and their budget, and how tests are spread over processes: whole files at a time."""

from __future__ import annotations

import os
import resource
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tasks.domain.errors import NotFound
from tests.fakes.services import PostgreSql, postgresql

# No test fails by the clock: on a busy machine an example takes a hundred times as long.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


NEEDS = ("docker", "postgresql", "s3", "network", "playwright", "harbor", "swebench", "datasets", "real")
"""Markers of cases that need an engine, a server or another package. Each implies `slow`."""
LEVELS = ("slow", "drill")
"""Markers of cases that the default level leaves out."""
BUDGET_S = 5.0
"""CPU seconds of a case of the default level. The largest takes 2 on an idle machine, and twice that beside CI's other
work."""


ENGINE = "tests/adapters/sandbox/"
"""Tests that count the mounts and images of the machine, and all that start containers, run one after the other."""


class WholeFiles(LoadFileScheduling):
    """A file's tests share what they set up. xdist's groups do the same, but not since pytest 9.2: they are written
    into ids that are not its own any more."""

    def _split_scope(self, nodeid: str) -> str:
        return ENGINE if nodeid.startswith(ENGINE) or "[docker" in nodeid else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """What `--numprocesses` hands out at a time."""
    return WholeFiles(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process for each core; two at the slow level, whose tests wait for servers half of their time.

    Each process imports and collects everything, which takes 13 CPU seconds.
    """
    cores = os.cpu_count() or 1
    return cores if "not slow" in config.option.markexpr else 2 * cores


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs an engine or a server as slow, and put files with slow cases first.

    A slow file that starts last would leave the other processes without work.
    """
    for item in items:
        if any(map(item.get_closest_marker, NEEDS)):
            item.add_marker("slow")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a case of the default level that uses more than its budget of processor time."""
    before = cpu_s()
    result = yield
    used = cpu_s() - before
    if used > BUDGET_S and not any(map(item.get_closest_marker, LEVELS)):
        pytest.fail(f"{used:.1f} CPU s are over the budget of {BUDGET_S}: make it cheaper or mark it `slow`")
    return result


def cpu_s() -> float:
    """CPU seconds of this process and of the processes that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.fixture(scope="session")
def database() -> Iterator[PostgreSql]:
    """A PostgreSQL server of the tests' own."""
    try:
        with postgresql() as started:
            yield started
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")
