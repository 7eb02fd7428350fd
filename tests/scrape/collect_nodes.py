"""Nodes as GitHub sends them, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any

BASE, FIRST, MERGE, HEAD = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


def connection(*nodes: Any, total: int | None = None) -> dict[str, Any]:
    return {"totalCount": len(nodes) if total is None else total, "nodes": list(nodes)}


def pull_node(number: int = 7, **fields: Any) -> dict[str, Any]:
    """A merged pull request of one commit that touches one source and one test file."""
    commit = {"oid": FIRST, "authoredDate": "2026-01-02T00:00:00Z", "committedDate": "2026-01-03T00:00:00Z"}
    node: dict[str, Any] = {
        "id": f"PR_{number}",
        "number": number,
        "title": "A fix",
        "body": "Fixes #3",
        "state": "MERGED",
        "createdAt": "2026-01-05T00:00:00Z",
        "mergedAt": "2026-01-06T00:00:00Z",
        "updatedAt": "2026-01-06T00:00:00Z",
        "author": {"__typename": "User", "login": "ada"},
        "baseRefName": "main",
        "headRefOid": HEAD,
        "additions": 3,
        "deletions": 1,
        "changedFiles": 2,
        "labels": connection({"name": "bug"}),
        "mergeCommit": {"oid": MERGE, "message": "Merge pull request #7", "parents": connection({"oid": BASE})},
        "firstCommit": connection({"commit": commit | {"parents": connection({"oid": BASE})}}),
        "commits": connection({"commit": commit | {"message": "fix it"}}),
        "files": connection(
            {"path": "pkg/a.py", "additions": 1, "deletions": 1, "changeType": "MODIFIED"},
            {"path": "tests/test_a.py", "additions": 2, "deletions": 0, "changeType": "ADDED"},
        ),
        "closingIssuesReferences": connection(),
    }
    return node | fields


def issue_node(number: int = 3, **fields: Any) -> dict[str, Any]:
    """An issue that nobody edited or commented on."""
    node: dict[str, Any] = {
        "id": f"I_{number}",
        "number": number,
        "title": "It breaks",
        "body": "when I do this",
        "createdAt": "2026-01-01T00:00:00Z",
        "closedAt": "2026-01-06T00:00:00Z",
        "updatedAt": "2026-01-06T00:00:00Z",
        "lastEditedAt": None,
        "author": {"__typename": "User", "login": "bob"},
        "labels": connection(),
        "comments": connection(),
        "userContentEdits": connection(),
        "timelineItems": connection(),
    }
    return node | fields
