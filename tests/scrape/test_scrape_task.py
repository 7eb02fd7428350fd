"""Where tokens come from, and the task over a socket without a server of Prefect's."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_github import REPO, hub_of, world_of

from tasks.adapters.clock import SystemClock
from tasks.adapters.store.tables.store import Store
from tasks.domain.scraping import RawPage, SyncState
from tasks.scrape.task import MissingIssues, ScrapeRequest, scrape_issues, scrape_repository, tokens
from tests.fakes.local_github.server import listening
from tests.fakes.local_github.world import LocalRepository


def test_tokens_come_from_the_first_variable_that_is_set() -> None:
    assert [token.reveal() for token in tokens({"SWT_GITHUB_TOKENS": "a,b", "GITHUB_TOKEN": "c"}, "")] == ["a", "b"]
    assert [token.reveal() for token in tokens({"SWT_GITHUB_TOKENS": "", "GH_TOKEN": "d"}, "")] == ["d"]
    assert tokens({}, "") == ()


def test_a_task_syncs_into_the_store(
    small_repository: LocalRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWT_GITHUB_TOKENS", "one,two")
    hub = hub_of(world_of(small_repository), SystemClock())
    with listening(hub) as address:
        url = f"{address}/graphql"
        report = scrape_repository(str(tmp_path), ScrapeRequest(repo=REPO, url=url))
        missing = scrape_issues(str(tmp_path), MissingIssues(repo=REPO, url=url, numbers=(5, 99)))
    assert report.failures == ()
    assert [failure.number for failure in missing.failures] == [99]
    store = Store(str(tmp_path))
    assert {state.kind for state in store.read(SyncState)} == {"pull_requests", "issues"}
    assert len(store.read(RawPage)) > 5
