"""The demo in a folder of its own, with a scripted model beside it: what a benchmark of sweeps starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.rehearsal.scripted_provider.server import ScriptedProvider


@contextmanager
def demo_warehouse(
    provider: ScriptedProvider, card: Callable[[str], str], agents: Path | None = None
) -> Iterator[Settings]:
    """Settings of a store with the demo in it. `card` is told the provider's address and gives the text of the models'
    file; `agents` are installed ones to use."""
    with TemporaryDirectory(prefix="demo-warehouse-") as name, provider.serve() as url:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "own.toml").write_text(card(url))
        settings = Settings(
            store=str(folder / "store"),
            cache=folder / "cache",
            database=folder / "swt.duckdb",
            own_models=folder / "own.toml",
            environ={},
            trusted=True,
        )
        build_demo_mirror(settings)
        import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
        if agents:
            (settings.cache / "agents").symlink_to(agents.resolve())
        yield settings
