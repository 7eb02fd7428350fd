"""What of the cache is pruned: by age and by use, and nothing by a dry run."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from domain_rows import environment_row, run_row

from flows.interface.commands.pruning import prune
from flows.interface.settings import Settings
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import UsageError
from tasks.domain.names import EnvId, RepoName

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=200)
USED, SERVICE, UNUSED, FRESH = (EnvId(letter * 32) for letter in "abcd")


def aged(path: Path) -> Path:
    """A folder with a file in it that was made long ago; a file where the name ends in `.tar` or `.jsonl`."""
    if path.suffix in (".tar", ".jsonl"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    else:
        path.mkdir(parents=True)
        (path / "file").write_text("x" * 5000)
        os.utime(path / "file", (OLD.timestamp(),) * 2)
    os.utime(path, (OLD.timestamp(),) * 2)
    return path


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(store=str(tmp_path / "store"), cache=tmp_path / "cache", database=tmp_path / "swt.duckdb")
    for name in (USED, SERVICE, UNUSED, "old"):
        aged(made.cache / "environments" / name)
    (made.cache / "environments" / FRESH).mkdir()
    aged(made.cache / "trees" / "a__b-1.tar")
    aged(made.cache / "journals" / "abandoned.jsonl")
    (made.cache / "journals" / "under_way.jsonl").write_text("x")
    aged(made.cache / "mirrors" / "a__b.git")
    aged(made.cache / "mirrors" / "c__d.git")
    store = Store(made.store)
    store.write_run(run_row(env_id=USED, repo=RepoName("a/b"), started_at=NOW, finished_at=NOW))
    store.write([environment_row(env_id=USED, install=(f"service:web={SERVICE}",))])
    return made


def test_what_nothing_needed_goes_and_what_serves_the_used_stays(settings: Settings) -> None:
    kept = set(settings.cache.rglob("*"))
    said = prune(settings, "3 months", dry_run=True)
    assert set(settings.cache.rglob("*")) == kept
    assert said.splitlines()[-1].startswith("5 not used since ")
    assert "would be removed" in said
    prune(settings, "3 months", dry_run=False)
    left = {path.name for folder in settings.cache.iterdir() for path in folder.iterdir()}
    assert left == {USED, SERVICE, FRESH, "a__b.git", "under_way.jsonl"}
    assert prune(settings, "3 months", dry_run=False).startswith("0 not used since ")


@pytest.mark.parametrize("said", ["", "2 days", "soon"])
def test_what_runs_now_must_not_lose_its_files(settings: Settings, said: str) -> None:
    with pytest.raises(UsageError):
        prune(settings, said, dry_run=True)
