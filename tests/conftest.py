"""How the tests are spread over processes: `make test` starts one for each core."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file stay together, for what they share; those of the one container engine too."""
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        group = "engine" if item.get_closest_marker("docker") else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
