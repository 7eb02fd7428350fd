"""Issues: from a file where their text is to be had, else put together from what the history says of them.

What is put together has a label that says so, and a comment that says from what. It is told after the fix and knows it:
good for trying everything, and for no benchmark.
"""

from __future__ import annotations

import bisect
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.adapters.files import regular_file
from tasks.domain.collect import TRIAL_LABEL
from tasks.domain.errors import BadInput
from tests.fakes.local_github.changelog import ChangelogEntry
from tests.fakes.local_github.pulls import Pull

TELLER = "local-github"
"""Who opens the issues that are put together, and says so below them."""
_CLOSES = re.compile(
    r"^\W*(?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?)\b:?[ \t]+"
    r"#\d+(?:[ \t]*(?:,|and|&)[ \t]*#\d+)*\b[ \t.,:;–-]*"
    r"|according to its change log .*$)",
    re.I | re.M,
)
"""Which issues are closed; what else the line says is kept."""
_TRAILER = re.compile(r"^(?:Co-authored-by|Signed-off-by|Reviewed-by|cc|\(cherry picked).*$", re.I | re.M)
_REFERENCE = re.compile(r"\s*[(\[]?(?:closes|fixes|fixed|resolves)?\s*#\d+[)\]]?", re.I)
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
    for place, line in enumerate(regular_file(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            issue = _issue(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            hint = "a line needs number, title, body and created_at"
            raise BadInput(f"{path} line {place} is not an issue: {error}", hint=hint) from error
        found[issue.number] = issue
    return found


def with_links(
    issues: dict[int, LocalIssue], pulls: tuple[Pull, ...], entries: Iterable[ChangelogEntry] = ()
) -> dict[int, LocalIssue]:
    """The issues, what closed each, and those that pull requests say they fix, put together."""
    said: dict[int, list[ChangelogEntry]] = defaultdict(list)
    for entry in entries:
        for number in entry.numbers:
            said[number].append(entry)
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
            if number not in made:
                made[number] = _put_together(number, pull, said[number], _opened(number, pull, pulls, taken))
            issue = made[number]
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


def _opened(number: int, pull: Pull, pulls: tuple[Pull, ...], taken: list[int]) -> datetime:
    """Numbers are given in order, so the next lower pull request was opened shortly before."""
    below = bisect.bisect_left(taken, number)
    return pulls[below - 1].created if below else pull.created - timedelta(days=1)


def _put_together(number: int, pull: Pull, entries: list[ChangelogEntry], opened: datetime) -> LocalIssue:
    """An issue in the words of the change log and of the first pull request that closes it; bare where there are none.

    The marks are no words of it: a label, and a comment.
    """
    messages = (commit.rest for commit in (*pull.commits, pull.merge))
    texts = [_told(text) for text in (*(entry.text for entry in entries), pull.body, *messages)]
    body = "\n\n".join(dict.fromkeys(text for text in texts if text))
    sources = [*dict.fromkeys(entry.path for entry in entries), f"pull request {pull.number}", pull.merge.oid]
    note = Comment(
        author=TELLER,
        created=opened,
        updated=opened,
        body=f"No text of this issue is to be had. It is put together from {', '.join(sources)}.",
    )
    return LocalIssue(
        number=number,
        title=_REFERENCE.sub("", pull.title).strip() or f"Issue {number}",
        body=body,
        author=TELLER,
        created=opened,
        closed=pull.merged,
        labels=(TRIAL_LABEL,),
        comments=(note,),
    )


def _told(text: str) -> str:
    """What a text says beside which issues it closes and who had a part in it."""
    said = _TRAILER.sub("", _CLOSES.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", said).strip()


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
