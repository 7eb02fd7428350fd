"""GitHub's nodes → rows. Pure; takes what the queries in `tasks/adapters/github/queries` bring.

Nodes come from outside: an account may be gone (`author: null`), a merge commit unknown, a connection null, an entry of
a list null. Nothing of that is an error; a node without a number or dates is one, and raises `BadInput`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tasks.domain.collect import Issue, PullRequest, RepositoryState
from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName, RepoPath, Sha

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Edit:
    """One version of a body."""

    at: datetime
    text: str | None
    """Null where the version was deleted."""


def pull_request_of(repo: RepoName, node: Node) -> PullRequest:
    """A node of `pull_requests.graphql`, with its lists as far as they were read."""
    try:
        return _pull_request(repo, node)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _not_a_node("pull request", repo, node, error) from error


def issue_of(repo: RepoName, node: Node) -> Issue:
    """A node with `IssueFields`, with its lists as far as they were read."""
    try:
        return _issue(repo, node)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _not_a_node("issue", repo, node, error) from error


def repository_of(repo: RepoName, node: Node) -> RepositoryState:
    """The node of `repository.graphql`."""
    found = (node.get("licenseInfo") or {}).get("spdxId")
    return RepositoryState(
        repo=repo,
        name_now=_text(node, "nameWithOwner") or repo,
        licence=None if found in ("NOASSERTION", "", None) else str(found),
        default_branch=(node.get("defaultBranchRef") or {}).get("name"),
        archived=bool(node.get("isArchived")),
    )


def _pull_request(repo: RepoName, node: Node) -> PullRequest:
    created_at = _moment(node["createdAt"])
    first = next((entry["commit"] for entry in _entries(node, "firstCommit")), None)
    commits = [entry["commit"] for entry in _entries(node, "commits")]
    merge = node.get("mergeCommit") or {}
    files = _entries(node, "files")
    return PullRequest(
        repo=repo,
        number=int(node["number"]),
        title=_text(node, "title"),
        body=_text(node, "body"),
        author=_login(node),
        author_kind=str((node.get("author") or {}).get("__typename", "")),
        labels=_labels(node),
        created_at=created_at,
        merged_at=_optional_moment(node.get("mergedAt")),
        updated_at=_moment(node["updatedAt"]),
        base_branch=_text(node, "baseRefName"),
        head_commit=Sha(_text(node, "headRefOid")),
        merge_commit=Sha(merge["oid"]) if merge else None,
        first_commit=Sha(first["oid"]) if first else None,
        first_commit_parents=tuple(Sha(parent["oid"]) for parent in _entries(first or {}, "parents")),
        begun_at=min(created_at, _moment(first["authoredDate"])) if first else created_at,
        commits=_total(node, "commits"),
        commit_ids=tuple(Sha(commit["oid"]) for commit in commits),
        commit_messages=tuple(_text(commit, "message") for commit in commits),
        merge_message=_text(merge, "message"),
        changed_files=int(node["changedFiles"]),
        additions=int(node["additions"]),
        deletions=int(node["deletions"]),
        paths=tuple(RepoPath(file["path"]) for file in files),
        path_additions=tuple(int(file["additions"]) for file in files),
        path_deletions=tuple(int(file["deletions"]) for file in files),
        path_changes=tuple(str(file["changeType"]).lower() for file in files),
        closing_references=tuple(_reference(entry) for entry in _entries(node, "closingIssuesReferences")),
        complete=_whole(node, ("files", "commits", "closingIssuesReferences")) and len(files) == node["changedFiles"],
    )


def _issue(repo: RepoName, node: Node) -> Issue:
    comments = sorted(_entries(node, "comments"), key=lambda comment: _moment(comment["createdAt"]))
    events = sorted(_entries(node, "timelineItems"), key=lambda event: _moment(event["createdAt"]))
    renames = [event for event in events if event["__typename"] == "RenamedTitleEvent"]
    edits = sorted(map(_edit, _entries(node, "userContentEdits")), key=lambda edit: edit.at)
    known = [(edit.at, edit.text) for edit in edits if edit.text is not None]
    return Issue(
        repo=repo,
        number=int(node["number"]),
        title=_text(node, "title"),
        body=_text(node, "body"),
        author=_login(node),
        labels=_labels(node),
        created_at=_moment(node["createdAt"]),
        closed_at=_optional_moment(node.get("closedAt")),
        updated_at=_moment(node["updatedAt"]),
        edited_at=_optional_moment(node.get("lastEditedAt")),
        edit_times=tuple(at for at, _ in known),
        edit_texts=tuple(text for _, text in known),
        edits_complete=_whole(node, ("userContentEdits",)) and len(known) == len(edits),
        rename_times=tuple(_moment(event["createdAt"]) for event in renames),
        rename_titles=tuple(_text(event, "previousTitle") for event in renames),
        comment_authors=tuple(_login(comment) or "" for comment in comments),
        comment_times=tuple(_moment(comment["createdAt"]) for comment in comments),
        comment_touched=tuple(_moment(comment.get("lastEditedAt") or comment["createdAt"]) for comment in comments),
        comment_texts=tuple(_text(comment, "body") for comment in comments),
        closers=tuple(dict.fromkeys(_closers(repo, events))),
        complete=_whole(node, ("comments", "userContentEdits", "timelineItems")),
    )


def _edit(node: Node) -> _Edit:
    return _Edit(_moment(node["editedAt"]), None if node.get("deletedAt") else node.get("diff"))


def _closers(repo: RepoName, events: Iterable[Node]) -> Iterable[str]:
    """What closed an issue. An event without a closer was a person's click."""
    for event in events:
        closer = event.get("closer") if event["__typename"] == "ClosedEvent" else None
        where = ((closer or {}).get("repository") or {}).get("nameWithOwner", repo)
        if closer and closer["__typename"] == "PullRequest":
            yield f"{where}#{closer['number']}"
        elif closer and closer["__typename"] == "Commit":
            yield f"{where}@{closer['oid']}"


def _entries(node: Node, name: str) -> list[Node]:
    """The entries of a connection that are there."""
    connection = node.get(name) or {}
    return [entry for entry in connection.get("nodes") or [] if entry]


def _total(node: Node, name: str) -> int:
    connection = node.get(name) or {}
    return int(connection.get("totalCount", len(_entries(node, name))))


def _whole(node: Node, names: Iterable[str]) -> bool:
    """Whether each of these connections holds as many entries as it counts."""
    return all(len(_entries(node, name)) == _total(node, name) for name in names)


def _reference(node: Node) -> str:
    return f"{node['repository']['nameWithOwner']}#{node['number']}"


def _labels(node: Node) -> tuple[str, ...]:
    return tuple(_text(label, "name") for label in _entries(node, "labels"))


def _login(node: Node) -> str | None:
    return (node.get("author") or {}).get("login")


def _text(node: Node, name: str) -> str:
    return str(node.get(name) or "")


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    return moment.astimezone(UTC)


def _optional_moment(value: Any) -> datetime | None:
    return None if value is None else _moment(value)


def _not_a_node(kind: str, repo: str, node: Node, error: Exception) -> BadInput:
    number = node.get("number", "?") if isinstance(node, Mapping) else "?"
    what = f"{type(error).__name__}: {error}"
    hint = "was the page written by an older version? read it again with `swt rebuild`"
    return BadInput(f"{repo}#{number} is not a whole {kind}: {what}", hint=hint)
