"""The local GitHub: what it makes of a history, how it answers, and its faults over a socket."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from small_github import NUMBERS, REPO, context_of, hub_of, week, world_of

from tasks.adapters.clock import SystemClock
from tasks.adapters.git.changes import Changes
from tasks.adapters.git.command import GitFailed
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.github.client import GitHub, RequestRetries
from tasks.adapters.github.queries import document
from tasks.adapters.github.tokens import TokenPool, tokens_from
from tasks.adapters.store.tables.store import Store
from tasks.domain.collect import TRIAL_LABEL
from tasks.domain.errors import BadInput
from tasks.filter.base_commit import prove
from tasks.scrape.fetching import SyncContext
from tasks.scrape.page_store import PageStore
from tasks.scrape.pages import CollectedRows
from tasks.scrape.sync import sync_repository
from tests.fakes.local_github.command import GitHubRequest, hub_for
from tests.fakes.local_github.faults import Dice, GitHubFault, dice_from
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.issues import read_issues
from tests.fakes.local_github.server import listening, transport
from tests.fakes.local_github.world import Disagreement, LocalRepository, open_repository
from tests.fakes.quick_clock import QuickClock

VARIABLES = {"owner": "small", "name": "project", "size": 50, "after": None}


def ask(hub: Hub, name: str = "pull_requests", fault: str = "", **variables: Any) -> httpx.Response:
    asked = {**VARIABLES, "field": "CREATED_AT", "direction": "ASC", **variables}
    headers = {"authorization": "bearer any"} | ({"x-fault": fault} if fault else {})
    with httpx.Client(transport=transport(hub)) as client:
        payload = {"query": document(name), "variables": asked}
        return client.post("http://github.test/graphql", json=payload, headers=headers)


def pulls(hub: Hub, **variables: Any) -> list[dict[str, Any]]:
    found = ask(hub, **variables).json()["data"]["repository"]["pullRequests"]["nodes"]
    assert isinstance(found, list)
    return found


@pytest.fixture
def hub(small_repository: LocalRepository) -> Hub:
    return hub_of(world_of(small_repository), QuickClock())


def test_merges_and_squashes_are_pull_requests(hub: Hub) -> None:
    found = {pull["number"]: pull for pull in pulls(hub)}
    assert found[1]["title"] == "Squash number 1"
    assert found[1]["body"] == "Closes: #5"
    assert found[2]["title"] == "Merge number 2"
    assert [entry["commit"]["message"] for entry in found[2]["commits"]["nodes"]] == ["Part 0", "Part 1"]
    assert len(found[2]["mergeCommit"]["parents"]["nodes"]) == 2
    assert found[12]["title"] == "Merge number 12"
    assert len(found[12]["mergeCommit"]["parents"]["nodes"]) == 2
    assert found[2]["headRefOid"] == found[2]["mergeCommit"]["parents"]["nodes"][1]["oid"]
    assert found[2]["firstCommit"]["nodes"][0]["commit"]["parents"]["nodes"][0]["oid"] == found[2]["baseRefOid"]


def test_the_head_of_a_squash_is_no_commit_of_the_history(hub: Hub, small_repository: LocalRepository) -> None:
    squash = next(pull for pull in pulls(hub) if pull["number"] == 3)
    assert squash["headRefOid"] not in small_repository.history.commits
    assert squash["mergeCommit"]["oid"] in small_repository.history.commits


def test_files_and_counts_are_those_of_the_diff(hub: Hub) -> None:
    found = {pull["number"]: pull for pull in pulls(hub)}
    assert {file["path"]: file["changeType"] for file in found[3]["files"]["nodes"]} == {
        "CHANGES.rst": "ADDED",
        "src/a.py": "MODIFIED",
        "tests/test_3.py": "ADDED",
    }
    assert found[3]["additions"] == sum(file["additions"] for file in found[3]["files"]["nodes"])
    assert found[13]["changedFiles"] == 102
    assert len(found[13]["files"]["nodes"]) == 100


def test_a_change_log_entry_says_what_is_closed(hub: Hub) -> None:
    found = {pull["number"]: pull for pull in pulls(hub)}
    assert found[7]["body"] == "Closes: #10\n\nAccording to its change log entry, this closes #5."
    assert found[3]["body"].endswith("According to its change log entry, this closes #10.")
    assert [issue["number"] for issue in found[7]["closingIssuesReferences"]["nodes"]] == [10, 5]


def test_numbers_rise_with_creation_dates(hub: Hub) -> None:
    found = pulls(hub)
    created = [pull["createdAt"] for pull in sorted(found, key=lambda pull: int(pull["number"]))]
    assert created == sorted(created)
    assert all(pull["createdAt"] <= pull["mergedAt"] for pull in found)


def test_pages_follow_each_other_in_any_order(hub: Hub) -> None:
    for field, direction in (("CREATED_AT", "ASC"), ("UPDATED_AT", "DESC"), ("UPDATED_AT", "ASC")):
        seen: list[int] = []
        after = None
        while True:
            page = ask(hub, size=5, after=after, field=field, direction=direction).json()
            connection = page["data"]["repository"]["pullRequests"]
            seen += [node["number"] for node in connection["nodes"]]
            after = connection["pageInfo"]["endCursor"]
            if not connection["pageInfo"]["hasNextPage"]:
                break
        assert sorted(seen) == [number for number in range(1, NUMBERS + 1) if number % 5]


def test_what_is_later_has_not_happened(small_repository: LocalRepository) -> None:
    hub = hub_of(world_of(small_repository, until=week(6)), QuickClock())
    assert [pull["number"] for pull in pulls(hub)] == [1, 2, 3, 4]
    issues = ask(hub, "issues", since=None).json()["data"]["repository"]["issues"]["nodes"]
    assert [(issue["number"], issue["state"]) for issue in issues] == [(5, "CLOSED"), (10, "OPEN")]


def test_an_issue_without_a_text_is_put_together_and_says_so(small_repository: LocalRepository, tmp_path: Path) -> None:
    """Without an issue file, numbers that pull requests close are known, and what the history says of them."""
    folder = small_repository.history.folder
    held = open_repository(REPO, folder, issues=None, scratch=tmp_path)
    assert sorted(held.issues) == [5, 10]
    assert {number: issue.title for number, issue in held.issues.items()} == {
        5: "Squash number 1",
        10: "Squash number 3",
    }
    assert held.issues[10].body == "A change.", "the change log's words; the marks are none"
    assert {issue.labels for issue in held.issues.values()} == {(TRIAL_LABEL,)}
    (note,) = held.issues[10].comments
    assert note.body.startswith("No text of this issue is to be had. It is put together from CHANGES.rst, pull request")


@pytest.mark.parametrize(
    "line", ["nonsense", '{"number": 1}', "[1]", '{"number": 1, "title": "", "body": "", "created_at": "?"}']
)
def test_a_wrong_line_of_an_issue_file_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(BadInput, match="line 2"):
        read_issues(path)


def test_a_folder_without_git_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitFailed):
        open_repository(REPO, tmp_path, issues=None, scratch=tmp_path)


def test_points_are_charged_and_run_out(small_repository: LocalRepository) -> None:
    clock = QuickClock()
    hub = hub_of(world_of(small_repository), clock)
    hub.budget = 10
    first = ask(hub).json()["data"]["rateLimit"]
    assert (first["cost"], first["remaining"]) == (4, 6)
    ask(hub)
    out = ask(hub)
    assert out.status_code == 200
    assert out.json()["errors"][0]["type"] == "RATE_LIMITED"
    assert int(out.headers["x-ratelimit-reset"]) > clock.moment.timestamp()
    clock.sleep(3600)
    assert "data" in ask(hub).json()


def test_each_fault_comes_when_it_is_asked_for(hub: Hub) -> None:
    assert {fault: ask(hub, fault=fault).status_code for fault in ("500", "502", "504")} == {
        "500": 500,
        "502": 502,
        "504": 504,
    }
    assert ask(hub, fault="secondary-403").status_code == 403
    assert ask(hub, fault="secondary-429").headers["retry-after"] == "30"
    assert "secondary rate limit" in ask(hub, fault="secondary").json()["errors"][0]["message"]
    assert ask(hub, fault="resources").json()["errors"][0]["type"] == "RESOURCE_LIMITS_EXCEEDED"
    partial = ask(hub, fault="partial").json()
    assert partial["data"]["repository"]["pullRequests"] is None
    assert partial["errors"]
    with pytest.raises(json.JSONDecodeError):
        ask(hub, fault="torn").json()
    with pytest.raises(httpx.ReadTimeout):
        ask(hub, fault="timeout")
    with pytest.raises(httpx.RemoteProtocolError):
        ask(hub, fault="truncated")
    null = ask(hub, fault="null-node").json()["data"]["repository"]["pullRequests"]
    assert null["nodes"].count(None) == 1
    assert ask(hub, fault="null-list").json()["data"]["repository"]["pullRequests"] is None
    assert ask(hub, fault="no-repository").json()["data"]["repository"] is None
    short = ask(hub, fault="short", size=4).json()["data"]["repository"]["pullRequests"]
    assert (len(short["nodes"]), short["pageInfo"]["hasNextPage"]) == (3, True)
    cut = ask(hub, fault="cut-list", size=4).json()["data"]["repository"]["pullRequests"]
    assert (len(cut["nodes"]), cut["pageInfo"]["hasNextPage"]) == (2, False)
    assert ask(hub, fault="proxy").text.startswith("<html>")
    ask(hub, fault="moving")
    assert hub.world.repositories[REPO].touched
    assert ask(hub, fault="primary").json()["errors"][0]["type"] == "RATE_LIMITED"
    assert set(hub.faults) == set(GitHubFault)


def test_questions_that_are_none_are_refused(hub: Hub) -> None:
    assert hub.handle({"authorization": "bearer x"}, b"{").status == 400
    assert hub.handle({"authorization": "bearer x"}, b'{"query": "query {"}').status == 400
    assert hub.handle({}, b"{}").status == 401
    wrong = hub.handle({"authorization": "bearer x"}, b'{"query": "query Q { nothing }"}')
    assert "Cannot query field" in json.loads(wrong.body)["errors"][0]["message"]


def test_faults_are_read_from_text() -> None:
    dice = dice_from("502=0.25, partial=0.5,seed=9")
    assert dice.rates == {GitHubFault.BAD_GATEWAY: 0.25, GitHubFault.PARTIAL: 0.5}
    drawn = [dice.draw() for _ in range(2000)]
    assert 400 < drawn.count(GitHubFault.BAD_GATEWAY) < 600
    assert 400 < drawn.count(None) < 600
    for wrong in ("503=0.1", "502", "502=0.7,504=0.7", "seed=x"):
        with pytest.raises(BadInput):
            dice_from(wrong)


def test_each_proof_of_a_base_fails_where_github_says_something_else(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    """Told by no commit of the history: what is compared is not what the list was made from."""
    world = world_of(small_repository)
    world.disagreements[REPO] = dict(zip((1, 3, 4, 6), Disagreement, strict=True))
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    assert not sync_repository(context, REPO).failures
    (tmp_path / "mirrors").mkdir()
    (tmp_path / "mirrors" / "small__project.git").symlink_to(small_repository.history.folder)
    changes = Changes(Mirrors(tmp_path / "mirrors"), REPO)
    rows = prove(context.page_store.rows(REPO).pulls, changes, changes.graph())
    assert {row.number: row.reason for row in rows if row.reason} == {
        1: "counts-differ",
        3: "list-incomplete",
        4: "not-in-mirror",
        6: "no-merge-commit",
    }
    assert all(row.base_verified for row in rows if row.number not in world.disagreements[REPO])


@pytest.fixture
def url(hub: Hub) -> Iterator[str]:
    hub.clock, hub.hang_s = SystemClock(), 0.3
    with listening(hub) as url:
        yield url


def test_a_sync_over_a_socket_with_faults(
    hub: Hub, url: str, clean_rows: CollectedRows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Bodies really end early here and answers really do not come; every library's debug log is read for the token."""
    hub.dice = Dice(
        {GitHubFault.CUT: 0.15, GitHubFault.HANG: 0.05, GitHubFault.TORN: 0.1, GitHubFault.BAD_GATEWAY: 0.1}, 4
    )
    patience = RequestRetries(first_wait_s=0.01, longest_wait_s=0.02, timeout_s=0.2, attempts=30)
    with caplog.at_level(logging.DEBUG), httpx.Client() as http:
        pool = TokenPool(tokens_from("ghp_over_the_wire"), SystemClock())
        client = GitHub(pool, http, f"{url}/graphql", patience)
        context = SyncContext(client, PageStore(Store(str(tmp_path / "store"))))
        assert not sync_repository(context, REPO).failures
    assert {"truncated", "torn", "502"} <= set(hub.faults)
    assert context.page_store.rows(REPO) == clean_rows
    assert "httpcore" in {record.name.partition(".")[0] for record in caplog.records}
    assert "over_the_wire" not in caplog.text


def test_the_server_is_told_to_release_more_history(hub: Hub, url: str) -> None:
    assert httpx.get(f"{url}/other").status_code == 404
    httpx.post(f"{url}/dev", json={"until": week(6).isoformat(), "faults": "502=1", "vanish": {"a/b": 451}})
    assert hub.world.until == week(6)
    assert hub.world.vanished == {"a/b": 451}
    httpx.post(f"{url}/dev", json={"vanish": {"a/b": 200}})
    assert hub.world.vanished == {}
    assert ask(hub).status_code == 502
    httpx.post(f"{url}/dev", json={"until": None, "faults": ""})
    assert len(pulls(hub)) == 12
    assert httpx.get(f"{url}/dev").json() == {"requests": {"PullRequests": 2}, "faults": {"502": 1}}


def test_the_command_serves_what_it_is_given(small_repository: LocalRepository, tmp_path: Path) -> None:
    said: list[str] = []
    folder = small_repository.history.folder
    mirrors = tmp_path / "mirrors"
    request = GitHubRequest(repos=(REPO,), git=(folder,), licenses=("MIT",), until="2024-02-15", faults="502=0.5")
    hub = hub_for(mirrors, tmp_path, request, said.append)
    assert said == [f"{REPO}: 12 merged pull requests, 2 issues"]
    assert hub.world.until
    assert hub.world.until.isoformat() == "2024-02-15T00:00:00+00:00"
    with pytest.raises(BadInput, match="as many --git"):
        hub_for(mirrors, tmp_path, GitHubRequest(repos=(REPO, "a/b"), git=(folder,)), said.append)
    with pytest.raises(BadInput, match="is no date"):
        hub_for(mirrors, tmp_path, GitHubRequest(repos=(REPO,), git=(folder,), until="soon"), said.append)
