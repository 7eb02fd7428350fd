"""The small GitHub, indexed once."""

from __future__ import annotations

import pytest
from small_github import make_repository

from tasks.adapters.github.faithful.world import Repository


@pytest.fixture(scope="session")
def small_repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return make_repository(tmp_path_factory.mktemp("small-github"))
