"""Nodes → rows, pages → rows, rows → links."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from collect_nodes import BASE, FIRST, HEAD, MERGE, connection, issue_node, pull_node

from tasks.domain.collect import IssueLink, LinkSource
from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName
from tasks.scrape.links import known_of, links_of
from tasks.scrape.nodes import issue_of, pull_request_of
from tasks.scrape.pages import Page, rows_of

REPO = RepoName("owner/name")


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def test_a_pull_request() -> None:
    pull = pull_request_of(REPO, pull_node())
    assert (pull.number, pull.author, pull.author_kind, pull.labels) == (7, "ada", "User", ("bug",))
    assert (pull.merge_commit, pull.head_commit, pull.first_commit) == (MERGE, HEAD, FIRST)
    assert pull.first_commit_parents == (BASE,)
    assert pull.begun_at == day(2)
    assert pull.paths == ("pkg/a.py", "tests/test_a.py")
    assert (pull.path_additions, pull.path_deletions, pull.path_changes) == ((1, 2), (1, 0), ("modified", "added"))
    assert pull.complete


def test_what_is_gone_is_null_and_no_error() -> None:
    gone = dict.fromkeys(("author", "mergeCommit", "files", "labels", "closingIssuesReferences", "body"))
    pull = pull_request_of(REPO, pull_node(**gone, firstCommit=connection(None), commits=connection(None, total=1)))
    assert (pull.author, pull.author_kind, pull.merge_commit, pull.first_commit) == (None, "", None, None)
    assert (pull.paths, pull.commit_ids, pull.body, pull.commits) == ((), (), "", 1)
    assert pull.begun_at == pull.created_at
    assert not pull.complete


def test_a_list_that_goes_on_makes_it_incomplete() -> None:
    commits = pull_node()["commits"]["nodes"]
    assert not pull_request_of(REPO, pull_node(commits=connection(*commits, total=90))).complete
    assert not pull_request_of(REPO, pull_node(changedFiles=3000)).complete


@pytest.mark.parametrize("broken", [{"createdAt": None}, {"createdAt": "yesterday"}, {"number": None}, {"commits": 3}])
def test_what_is_no_node_is_named(broken: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"owner/name#.* is not a whole pull request"):
        pull_request_of(REPO, pull_node(**broken))


def test_an_issue_with_history() -> None:
    edits = [
        {"editedAt": "2026-01-04T00:00:00Z", "deletedAt": None, "diff": "second"},
        {"editedAt": "2026-01-01T00:00:00Z", "deletedAt": None, "diff": "first"},
    ]
    comments = [
        {"author": None, "body": "b", "createdAt": "2026-01-03T00:00:00Z", "lastEditedAt": "2026-01-09T00:00:00Z"},
        {"author": {"login": "x"}, "body": "a", "createdAt": "2026-01-02T00:00:00Z", "lastEditedAt": None},
    ]
    events = [
        {"__typename": "ClosedEvent", "createdAt": "2026-01-06T00:00:00Z", "closer": None},
        {
            "__typename": "ClosedEvent",
            "createdAt": "2026-01-07T00:00:00Z",
            "closer": {"__typename": "PullRequest", "number": 7, "repository": {"nameWithOwner": "owner/name"}},
        },
        {
            "__typename": "ClosedEvent",
            "createdAt": "2026-01-08T00:00:00Z",
            "closer": {"__typename": "Commit", "oid": MERGE, "repository": None},
        },
        {
            "__typename": "RenamedTitleEvent",
            "createdAt": "2026-01-02T00:00:00Z",
            "previousTitle": "Old",
            "currentTitle": "It breaks",
        },
    ]
    fields = {"userContentEdits": connection(*edits), "comments": connection(*comments)}
    issue = issue_of(REPO, issue_node(**fields, timelineItems=connection(*events), lastEditedAt=edits[0]["editedAt"]))
    assert (issue.edit_texts, issue.edit_times) == (("first", "second"), (day(1), day(4)))
    assert (issue.comment_texts, issue.comment_authors) == (("a", "b"), ("x", ""))
    assert issue.comment_touched == (day(2), day(9))
    assert (issue.rename_times, issue.rename_titles) == ((day(2),), ("Old",))
    assert issue.closers == ("owner/name#7", f"owner/name@{MERGE}")
    assert issue.edits_complete
    assert issue.complete


def test_a_deleted_version_makes_edits_incomplete() -> None:
    edit = {"editedAt": "2026-01-04T00:00:00Z", "deletedAt": "2026-01-05T00:00:00Z", "diff": None}
    issue = issue_of(REPO, issue_node(userContentEdits=connection(edit)))
    assert (issue.edit_texts, issue.edits_complete) == ((), False)


def page(kind: str, **repository: Any) -> Page:
    return Page(REPO, kind, {"repository": repository})


def test_the_newest_copy_counts_and_further_entries_are_worked_in() -> None:
    files = [{"path": f"f{n}.py", "additions": 1, "deletions": 0, "changeType": "ADDED"} for n in range(3)]
    old = pull_node(title="old", updatedAt="2026-01-05T12:00:00Z")
    new = pull_node(title="new", changedFiles=3, files=connection(*files[:2], total=3))
    more = {"number": 7, "updatedAt": new["updatedAt"], "files": connection(files[1], files[2], total=3)}
    stale = {"number": 7, "updatedAt": old["updatedAt"], "files": connection(files[0], total=1)}
    rows = rows_of(
        [
            page("pull_request_files", pullRequest=more),
            page("pull_requests", pullRequests=connection(new, None)),
            page("pull_requests", pullRequests=connection(old)),
            page("pull_request_files", pullRequest=stale),
            page("issues", issues=connection(issue_node())),
            page("issue_by_number", issueOrPullRequest={"__typename": "PullRequest"}),
            page("issue_by_number", issueOrPullRequest={"__typename": "Issue", **issue_node(4)}),
            page("issue_by_number", issueOrPullRequest=None),
            Page(REPO, "pull_requests", {"repository": None}),
        ]
    )
    (pull,) = rows.pulls
    assert (pull.title, pull.paths, pull.complete) == ("new", ("f0.py", "f1.py", "f2.py"), True)
    assert [issue.number for issue in rows.issues] == [3, 4]


def links(pull: dict[str, Any], *issues: dict[str, Any], others: tuple[int, ...] = ()) -> dict[str, IssueLink]:
    row = pull_request_of(REPO, pull)
    known = known_of([row, *(replace(row, number=n) for n in others)], [issue_of(REPO, node) for node in issues])
    return {f"{link.issue_repo}#{link.issue}": link for link in links_of(row, known)}


def test_one_link_keeps_everything_that_says_it() -> None:
    closer = {"__typename": "Commit", "oid": MERGE, "repository": {"nameWithOwner": "Owner/Name"}}
    event = {"__typename": "ClosedEvent", "createdAt": "2026-01-06T00:00:00Z", "closer": closer}
    reference = {"number": 3, "createdAt": "2026-01-01T00:00:00Z", "repository": {"nameWithOwner": "Owner/name"}}
    commit = {"commit": {"oid": FIRST, "message": "x\n\nResolves #3", "authoredDate": "2026-01-02T00:00:00Z"}}
    pull = pull_node(title="Fix #3", closingIssuesReferences=connection(reference), commits=connection(commit))
    (link,) = links(pull, issue_node(timelineItems=connection(event))).values()
    assert link.sources == tuple(LinkSource)
    assert link.usable


def test_numbers_that_are_no_issue_to_fix_are_kept_and_marked() -> None:
    body = "Fixes #3, #4, #5, #6, other/name#3, https://github.com/owner/name/pull/8 and closes #7"
    found = links(pull_node(body=body), issue_node(), issue_node(4, createdAt="2026-01-05T00:00:01Z"), others=(5,))
    assert [name for name, link in found.items() if link.usable] == ["owner/name#3"]
    assert found["owner/name#4"].opened_after
    assert found["owner/name#5"].is_pull_request
    assert not found["owner/name#6"].known
    assert found["other/name#3"].other_repository
    assert found["owner/name#8"].is_pull_request
    assert "owner/name#7" not in found
