"""The small GitHub, indexed once."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_github import REPO, context_of, hub_of, make_repository, world_of

from tasks.scrape.fetching import SyncContext
from tasks.scrape.pages import CollectedRows
from tasks.scrape.sync import sync_repository
from tests.fakes.local_github.world import LocalRepository
from tests.fakes.quick_clock import QuickClock


@pytest.fixture(scope="session")
def small_repository(tmp_path_factory: pytest.TempPathFactory) -> LocalRepository:
    return make_repository(tmp_path_factory.mktemp("small-github"))


@pytest.fixture(scope="session")
def clean_rows(small_repository: LocalRepository, tmp_path_factory: pytest.TempPathFactory) -> CollectedRows:
    """What a sync without any fault brings while nothing changes."""
    context = context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path_factory.mktemp("clean-github"))
    assert not sync_repository(context, REPO).failures
    return context.page_store.rows(REPO)


@pytest.fixture
def context(small_repository: LocalRepository, tmp_path: Path) -> SyncContext:
    return context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "store")
