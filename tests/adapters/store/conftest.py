"""A store in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.adapters.store.tables.store import Store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Store:
    return Store(str(root))
