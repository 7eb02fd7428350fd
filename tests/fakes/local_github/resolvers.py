"""Executes a query on our part of GitHub's schema. Each node is a plain mapping; a callable in it takes arguments."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from tasks.adapters.github.queries import SCHEMA
from tests.fakes.local_github.history import ChangedFile, HistoryCommit
from tests.fakes.local_github.issues import BodyEdit, Closing, Comment, LocalIssue, Rename, closed_by
from tests.fakes.local_github.pulls import Pull
from tests.fakes.local_github.world import Disagreement, LocalRepository, World

Node = dict[str, Any]
_LIMIT_OF_A_LIST = 100


class NotThere(GraphQLError):
    """What GitHub answers for a name or number that it does not know."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Could not resolve to {what}.", extensions={"type": "NOT_FOUND"})


class WrongCursor(GraphQLError):
    def __init__(self, cursor: str) -> None:
        message = f"`{cursor}` does not appear to be a valid cursor."
        super().__init__(message, extensions={"type": "INVALID_CURSOR_ARGUMENTS"})


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query."""

    text: str
    document: DocumentNode
    errors: tuple[GraphQLError, ...]
    """Why it is not valid; empty where it is."""


@cache
def schema() -> GraphQLSchema:
    return build_schema(SCHEMA.read_text(encoding="utf-8"))


@cache
def question(text: str) -> ParsedQuery:
    """A query, parsed and validated once."""
    document = parse(text)
    return ParsedQuery(text, document, tuple(validate(schema(), document)))


def answer(world: World, asked: ParsedQuery, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a valid query brings, as JSON knows it, but for `rateLimit`, which is left null. Not to be changed."""
    with world.lock:
        key = (asked.text, json.dumps(variables, sort_keys=True), world.state)
        if key not in world.answers:
            world.answers[key] = _executed(world, asked, variables)
        return world.answers[key]


def told(error: GraphQLError) -> dict[str, Any]:
    """An error in GitHub's form: the type beside the message."""
    made: dict[str, Any] = {"message": error.message}
    if error.path:
        made["path"] = error.path
    return made | ({"type": error.extensions["type"]} if error.extensions and "type" in error.extensions else {})


def _executed(world: World, asked: ParsedQuery, variables: Mapping[str, Any]) -> dict[str, Any]:
    root = {"repository": lambda _info, owner, name, **_: _repository(world, f"{owner}/{name}")}
    result = execute_sync(schema(), asked.document, root, variable_values=dict(variables))
    assert isinstance(result, ExecutionResult)
    errors = {"errors": [told(error) for error in result.errors]} if result.errors else {}
    return {"data": result.data, **errors}


def iso(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _repository(world: World, name: str) -> Node:
    held = world.repositories.get(name)
    if held is None:
        held = next((world.repositories[old] for old, now in world.renamed.items() if now == name), None)
    if held is None or name in world.vanished:
        raise NotThere(f"a Repository with the name '{name}'")
    return {
        "id": _id("R", name),
        "nameWithOwner": world.called(held),
        "isArchived": False,
        "isFork": False,
        "defaultBranchRef": {"name": held.history.branch},
        "licenseInfo": _license(held.license),
        "pullRequests": lambda _info, **args: _pulls(world, held, **args),
        "issues": lambda _info, **args: _issues(world, held, **args),
        "pullRequest": lambda _info, number: _one_pull(world, held, number),
        "issue": lambda _info, number: _one_issue(world, held, number),
        "issueOrPullRequest": lambda _info, number: _either(world, held, number),
    }


def _license(spdx: str | None) -> Node | None:
    return {"key": spdx.lower(), "spdxId": spdx, "name": spdx} if spdx else None


def _one_pull(world: World, held: LocalRepository, number: int) -> Node:
    pull = held.pulls.get(number)
    if pull is None or not world.shows(held, number, pull.merged):
        raise NotThere(f"a PullRequest with the number of {number}")
    return _pull(world, held, pull)


def _one_issue(world: World, held: LocalRepository, number: int) -> Node:
    issue = held.issues.get(number)
    if issue is None or not world.shows(held, number, issue.created):
        raise NotThere(f"an Issue with the number of {number}")
    return _issue(world, held, issue)


def _either(world: World, held: LocalRepository, number: int) -> Node:
    try:
        return _one_issue(world, held, number)
    except NotThere:
        return _one_pull(world, held, number)


def _pulls(
    world: World,
    held: LocalRepository,
    states: Sequence[str] | None = None,
    first: int = 0,
    after: str | None = None,
    orderBy: Mapping[str, str] | None = None,
) -> Node:
    """All that history knows are merged."""
    shown = list(world.pulls(held)) if states is None or "MERGED" in states else []
    dates = {"CREATED_AT": lambda pull: pull.created, "UPDATED_AT": lambda pull: world.pull_updated(held, pull)}
    page, info = _keyset(shown, first, after, orderBy, dates)
    held.history.read_files(pull.listed for pull in page)
    return {"totalCount": len(shown), "pageInfo": info, "nodes": [_pull(world, held, pull) for pull in page]}


def _issues(
    world: World,
    held: LocalRepository,
    first: int = 0,
    after: str | None = None,
    filterBy: Mapping[str, Any] | None = None,
    orderBy: Mapping[str, str] | None = None,
) -> Node:
    since = (filterBy or {}).get("since")
    shown = list(world.issues(held))
    if since:
        floor = datetime.fromisoformat(since)
        shown = [issue for issue in shown if world.issue_updated(held, issue) >= floor]
    dates = {"CREATED_AT": lambda issue: issue.created, "UPDATED_AT": lambda issue: world.issue_updated(held, issue)}
    page, info = _keyset(shown, first, after, orderBy, dates)
    total = len(shown) + (0 if since else world.unlisted.get(held.name, 0))
    return {"totalCount": total, "pageInfo": info, "nodes": [_issue(world, held, issue) for issue in page]}


def _keyset(
    shown: list[Any],
    first: int,
    after: str | None,
    order: Mapping[str, str] | None,
    dates: Mapping[str, Callable[[Any], datetime]],
) -> tuple[list[Any], Node]:
    """A page of numbered nodes. A cursor names a place in the order, as GitHub's do, and not a count of nodes."""
    order = order or {"field": "CREATED_AT", "direction": "ASC"}
    date = dates[order["field"]]
    backwards = order["direction"] == "DESC"
    keyed = sorted(((int(date(node).timestamp()), node.number, node) for node in shown), reverse=backwards)
    if after is not None:
        place = _place(after)
        keyed = [key for key in keyed if ((key[0], key[1]) < place if backwards else (key[0], key[1]) > place)]
    page = keyed[: min(first, _LIMIT_OF_A_LIST)]
    end = _cursor(page[-1][0], page[-1][1]) if page else None
    return [key[2] for key in page], {"hasNextPage": len(keyed) > len(page), "endCursor": end}


def _cursor(*place: int) -> str:
    return base64.b64encode(json.dumps(["cursor", *place]).encode()).decode()


def _place(cursor: str) -> tuple[int, ...]:
    try:
        word, *place = json.loads(base64.b64decode(cursor, validate=True))
    except (ValueError, TypeError):
        raise WrongCursor(cursor) from None
    if word != "cursor":
        raise WrongCursor(cursor)
    return tuple(place)


def _listed(nodes: Sequence[Any], make: Callable[[Any], Node]) -> Callable[..., Node]:
    """A connection over a list that only grows at its end."""

    def connection(_info: object, first: int = 0, after: str | None = None, **_: Any) -> Node:
        start = _place(after)[0] if after else 0
        end = min(start + min(first, _LIMIT_OF_A_LIST), len(nodes))
        info = {"hasNextPage": end < len(nodes), "endCursor": _cursor(end) if end > start else None}
        return {"totalCount": len(nodes), "pageInfo": info, "nodes": [make(node) for node in nodes[start:end]]}

    return connection


def _pull(world: World, held: LocalRepository, pull: Pull) -> Node:
    said = world.disagreements.get(held.name, {}).get(pull.number)
    files = _other_counts(held.history.files(*pull.listed), said)
    labels = [f"touched {count}" for count in range(len(held.touched.get(pull.number, ())))]
    closes = [held.issues[number] for number in closed_by(pull) if number in held.issues]
    closes = [issue for issue in closes if world.shows(held, issue.number, issue.created)]
    return {
        "__typename": "PullRequest",
        "id": _id("PR", held.name, pull.number),
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "url": f"https://github.com/{held.name}/pull/{pull.number}",
        "state": "MERGED",
        "createdAt": iso(pull.created),
        "mergedAt": iso(pull.merged),
        "updatedAt": iso(world.pull_updated(held, pull)),
        "lastEditedAt": None,
        "author": _actor(pull.commits[0].author if pull.commits else pull.merge.author),
        "baseRefName": pull.base_branch,
        "baseRefOid": pull.merge.parents[0],
        "headRefOid": pull.head,
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changedFiles": len(files),
        "repository": {"nameWithOwner": world.called(held)},
        "mergeCommit": _merge_commit(world, held, pull.merge, said),
        "labels": _listed(labels, lambda name: {"name": name}),
        "commits": _listed(pull.commits, lambda commit: {"commit": _commit(world, held, commit)}),
        "files": _listed(files[:-1] if said is Disagreement.FILES else files, _file),
        "closingIssuesReferences": _listed(closes, lambda issue: _issue(world, held, issue)),
    }


def _other_counts(files: tuple[ChangedFile, ...], said: Disagreement | None) -> tuple[ChangedFile, ...]:
    if said is not Disagreement.COUNTS:
        return files
    return (replace(files[0], additions=files[0].additions + 1), *files[1:])


def _merge_commit(world: World, held: LocalRepository, merge: HistoryCommit, said: Disagreement | None) -> Node | None:
    if said is Disagreement.NO_MERGE:
        return None
    if said is Disagreement.OTHER_MERGE:
        merge = replace(merge, oid=hashlib.sha1(merge.oid.encode(), usedforsecurity=False).hexdigest())
    return _commit(world, held, merge)


def _commit(world: World, held: LocalRepository, commit: HistoryCommit) -> Node:
    return {
        "__typename": "Commit",
        "oid": commit.oid,
        "message": commit.message,
        "authoredDate": iso(commit.authored),
        "committedDate": iso(commit.committed),
        "repository": {"nameWithOwner": world.called(held)},
        "parents": _listed(commit.parents, lambda oid: {"oid": oid}),
    }


def _file(file: ChangedFile) -> Node:
    return {"path": file.path, "additions": file.additions, "deletions": file.deletions, "changeType": file.change}


def _issue(world: World, held: LocalRepository, issue: LocalIssue) -> Node:
    edits = _until(world, issue.edits, lambda edit: edit.at)
    renames = _until(world, issue.renames, lambda rename: rename.at)
    closings = _until(world, issue.closings, lambda closing: closing.at)
    comments = _until(world, issue.comments, lambda comment: comment.created)
    events: list[Closing | Rename] = sorted([*renames, *closings], key=lambda event: event.at)
    touches = [f"touched {count}" for count in range(len(held.touched.get(issue.number, ())))]
    closed = issue.closed if issue.closed and world.has_happened(issue.closed) else None
    return {
        "__typename": "Issue",
        "id": _id("I", held.name, issue.number),
        "number": issue.number,
        "title": _title(issue, renames),
        "body": _body(issue, edits),
        "url": f"https://github.com/{held.name}/issues/{issue.number}",
        "state": "CLOSED" if closed else "OPEN",
        "stateReason": lambda _info, **_: "COMPLETED" if closed else None,
        "createdAt": iso(issue.created),
        "closedAt": iso(closed),
        "updatedAt": iso(world.issue_updated(held, issue)),
        "lastEditedAt": iso(edits[-1].at) if edits else None,
        "author": _actor(issue.author) if issue.author else None,
        "repository": {"nameWithOwner": world.called(held)},
        "labels": _listed([*issue.labels, *touches], lambda name: {"name": name}),
        "comments": _listed(comments, lambda comment: _comment(issue, comment)),
        "userContentEdits": _listed(edits, _edit),
        "timelineItems": _listed(events, lambda event: _event(world, held, event)),
    }


def _until(world: World, events: Iterable[Any], at: Callable[[Any], datetime]) -> list[Any]:
    """What has happened, in order."""
    return sorted((event for event in events if world.has_happened(at(event))), key=at)


def _title(issue: LocalIssue, renames: list[Rename]) -> str:
    """The file has the last title; before its renames it was another."""
    later = sorted(issue.renames, key=lambda rename: rename.at)[len(renames) :]
    return later[0].before if later else issue.title


def _body(issue: LocalIssue, edits: list[BodyEdit]) -> str:
    """The file has the last body. GitHub's first entry of edits is the original, where there are any."""
    return edits[-1].body if edits and len(edits) < len(issue.edits) else issue.body


def _edit(edit: BodyEdit) -> Node:
    return {"createdAt": iso(edit.at), "editedAt": iso(edit.at), "deletedAt": None, "diff": edit.body}


def _comment(issue: LocalIssue, comment: Comment) -> Node:
    edited = comment.updated if comment.updated > comment.created else None
    return {
        "id": _id("IC", issue.number, comment.created, comment.body),
        "body": comment.body,
        "createdAt": iso(comment.created),
        "updatedAt": iso(comment.updated),
        "lastEditedAt": iso(edited),
        "author": _actor(comment.author),
    }


def _event(world: World, held: LocalRepository, event: Closing | Rename) -> Node:
    made: Node = {"createdAt": iso(event.at)}
    if isinstance(event, Rename):
        return made | {"__typename": "RenamedTitleEvent", "previousTitle": event.before, "currentTitle": event.after}
    return made | {"__typename": "ClosedEvent", "closer": _closer(world, held, event)}


def _closer(world: World, held: LocalRepository, event: Closing) -> Node | None:
    if event.pull is not None:
        pull = held.pulls.get(event.pull)
        return _pull(world, held, pull) if pull else None
    commit = held.history.commits.get(event.commit or "")
    return _commit(world, held, commit) if commit else None


def _actor(name: str) -> Node:
    """git knows names and not logins: what a login may hold is kept of it."""
    plain = name.removesuffix("[bot]")
    login = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in plain).strip("-") or "ghost"
    return {"__typename": "User" if plain == name else "Bot", "login": login}


def _id(*parts: object) -> str:
    digest = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
    return f"{parts[0]}_{digest[:16]}"
