"""How the tests are spread over processes: `make test` starts one for each core."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# No test fails by the clock: on a busy machine an example takes a hundred times as long.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file stay together, for what they share; those of the one container engine too."""
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        group = "engine" if item.get_closest_marker("docker") else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
