"""How the tests are spread over processes: `make test` starts one for each core."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tasks.domain.errors import NotFound
from tasks.rehearsal.services import PostgreSql, postgresql

# No test fails by the clock: on a busy machine an example takes a hundred times as long.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


@pytest.hookimpl(tryfirst=True)  # before xdist's own, which writes the groups into the ids that it hands out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file stay together, for what they share; those of the one container engine too.

    Groups with a slow test come first: begun last, one of them would leave all other cores without work at the end.
    """
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            group = "engine" if item.get_closest_marker("docker") else str(item.path)
            item.add_marker(pytest.mark.xdist_group(group))
    slow = {group_of(item) for item in items if item.get_closest_marker("slow") or item.get_closest_marker("docker")}
    items.sort(key=lambda item: group_of(item) not in slow)


def group_of(item: pytest.Item) -> str:
    """The tests that one process runs in a row."""
    mark = item.get_closest_marker("xdist_group")
    assert mark
    return str(mark.args[0])


@pytest.fixture(scope="session")
def database() -> Iterator[PostgreSql]:
    """A PostgreSQL server of the tests' own."""
    try:
        with postgresql() as started:
            yield started
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")
