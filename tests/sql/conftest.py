"""One store in memory for all tests of sql/, emptied before each."""

from __future__ import annotations

import pytest
from sql_store import SqlStore


@pytest.fixture(scope="session")
def shared_store() -> SqlStore:
    return SqlStore()


@pytest.fixture
def store(shared_store: SqlStore) -> SqlStore:
    shared_store.clear()
    return shared_store
