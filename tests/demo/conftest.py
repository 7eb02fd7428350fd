from pathlib import Path

import pytest

from tasks.demo.history import build_mirror

DEMO = Path(__file__).parents[2] / "data" / "demo"


@pytest.fixture(scope="session")
def demo() -> Path:
    """The folder of the bundled sample."""
    return DEMO


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project's history as a bare repository."""
    return build_mirror(DEMO, tmp_path_factory.mktemp("demo") / "larder.git")
