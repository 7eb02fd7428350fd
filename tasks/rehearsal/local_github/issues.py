"""Issues: from a file where their text is to be had, else by the closing keywords of pull requests, without a text."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.domain.errors import BadInput
from tasks.rehearsal.local_github.pulls import Pull

NO_TEXT = "no text available: trial only"
"""Title, body and label of an issue that is known by its number alone."""
_KEYWORD = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+#(\d+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    author: str
    created: datetime
    updated: datetime
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyEdit:
    """The whole body after one edit."""

    at: datetime
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    at: datetime
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What closed an issue; exactly one of the two."""

    at: datetime
    pull: int | None = None
    commit: str | None = None


@dataclass(slots=True, kw_only=True)
class LocalIssue:
    """One issue, with all that will ever happen to it; the server shows what has happened so far."""

    number: int
    title: str
    body: str
    author: str | None
    created: datetime
    closed: datetime | None
    labels: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    edits: tuple[BodyEdit, ...] = ()
    renames: tuple[Rename, ...] = ()
    closed_by: int | None = None
    """Number of the pull request that a file names as what closed it."""
    closings: list[Closing] = field(default_factory=list)


def read_issues(path: Path) -> dict[int, LocalIssue]:
    """A JSONL file, one issue a line: `number`, `title`, `body`, `created_at`, and where known `closed_at`,
    `closed_by` (a pull request), `author`, `labels`, `comments` (`body`, `created_at`, `updated_at`, `author`),
    `edits` (`at`, `body`), `renames` (`at`, `before`, `after`). `BadInput` names a line that is none."""
    found: dict[int, LocalIssue] = {}
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            issue = _issue(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            hint = "a line needs number, title, body and created_at"
            raise BadInput(f"{path} line {place} is not an issue: {error}", hint=hint) from error
        found[issue.number] = issue
    return found


def with_links(issues: dict[int, LocalIssue], pulls: tuple[Pull, ...]) -> dict[int, LocalIssue]:
    """The issues, what closed each, and those without a text that pull requests say they fix."""
    taken = [pull.number for pull in pulls]
    numbers = frozenset(taken)
    made = dict(issues)
    named = {issue.closed_by: issue for issue in issues.values() if issue.closed_by}
    for pull in pulls:
        if pull.number in named:
            _close(named[pull.number], pull)
        for number, commit in mentioned(pull):
            if number in numbers or number > taken[-1]:
                continue
            issue = made.setdefault(number, _without_text(number, pull, pulls, taken))
            closing = Closing(at=pull.merged, commit=commit) if commit else Closing(at=pull.merged, pull=pull.number)
            issue.closings.append(closing)
            issue.closed = issue.closed or pull.merged
    return made


def _close(issue: LocalIssue, pull: Pull) -> None:
    issue.closings.append(Closing(at=pull.merged, pull=pull.number))
    issue.closed = issue.closed or pull.merged


def closed_by(pull: Pull) -> tuple[int, ...]:
    """What the pull request itself says it closes, in its title and body."""
    return tuple(dict.fromkeys(int(number) for number in _KEYWORD.findall(f"{pull.title}\n{pull.body}")))


def mentioned(pull: Pull) -> Iterator[tuple[int, str | None]]:
    """Every issue that it closes, with the commit where only a commit says so."""
    own = closed_by(pull)
    yield from ((number, None) for number in own)
    told = set(own)
    for commit in pull.commits:
        for number in map(int, _KEYWORD.findall(commit.message)):
            if number not in told:
                told.add(number)
                yield number, commit.oid


def _without_text(number: int, pull: Pull, pulls: tuple[Pull, ...], taken: list[int]) -> LocalIssue:
    """Numbers are given in order, so the next lower pull request was opened shortly before."""
    below = bisect.bisect_left(taken, number)
    opened = pulls[below - 1].created if below else pull.created - timedelta(days=1)
    return LocalIssue(
        number=number,
        title=f"Issue {number} ({NO_TEXT})",
        body=NO_TEXT,
        author=None,
        created=opened,
        closed=pull.merged,
        labels=(NO_TEXT,),
    )


def _issue(row: Mapping[str, Any]) -> LocalIssue:
    return LocalIssue(
        number=int(row["number"]),
        title=str(row["title"]),
        body=str(row["body"] or ""),
        author=row.get("author"),
        created=_moment(row["created_at"]),
        closed=_moment(row["closed_at"]) if row.get("closed_at") else None,
        closed_by=int(row["closed_by"]) if row.get("closed_by") else None,
        labels=tuple(map(str, row.get("labels") or ())),
        comments=tuple(map(_comment, row.get("comments") or ())),
        edits=tuple(BodyEdit(at=_moment(edit["at"]), body=str(edit["body"])) for edit in row.get("edits") or ()),
        renames=tuple(map(_rename, row.get("renames") or ())),
    )


def _comment(row: Mapping[str, Any]) -> Comment:
    created = _moment(row["created_at"])
    updated = _moment(row["updated_at"]) if row.get("updated_at") else created
    return Comment(author=str(row.get("author") or "someone"), created=created, updated=updated, body=str(row["body"]))


def _rename(row: Mapping[str, Any]) -> Rename:
    return Rename(at=_moment(row["at"]), before=str(row["before"]), after=str(row["after"]))


def _moment(text: str) -> datetime:
    """Without an offset it is UTC."""
    when = datetime.fromisoformat(text)
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
