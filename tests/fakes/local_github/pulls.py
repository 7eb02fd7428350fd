"""Which pull requests a history went through.

`Merge pull request #N from …` with two parents is a merge, as is `… (#N)`, which with one parent is a squash; all are
looked for on the default branch, and on branches that were merged into it as a whole. A pull request that was rebased
leaves no number behind, so it is not found. The head of a squashed one is in no history: it gets a name that no commit
has.

What GitHub lists of a pull request is the difference between where its branch left the default branch and its head.
What the merge commit changed is another: conflicts, and what the default branch got in the meantime, are in one of
the two only. The head of a squashed one being lost, the squash stands for it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tests.fakes.local_github.history import HistoryCommit, RepositoryHistory

_MERGED = re.compile(r"Merge pull request #(?P<number>\d+) from \S+")
_TITLED = re.compile(r"(?P<title>.*\S)\s*\(#(?P<number>\d+)\)$")
_NEIGHBOURS = 50
"""Numbers on either side."""
_LATE = timedelta(days=365)
_BRANCH = re.compile(r"Merge (?:remote-tracking branch '[\w.-]+/|branch '(?:origin/|upstream/)?)([^']+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One merged pull request, as far as history tells."""

    number: int
    title: str
    body: str
    """What the merge says below its title, or the message of the only commit, as GitHub proposes it; or empty."""
    base_branch: str
    merge: HistoryCommit
    head: str
    commits: tuple[HistoryCommit, ...]
    """Parents before children."""
    listed: tuple[str, str]
    """The two commits whose difference GitHub lists; the first is empty before a first commit."""
    created: datetime
    """Estimated: no earlier than lower numbers, no later than higher ones were merged."""

    @property
    def merged(self) -> datetime:
        return self.merge.committed


def pulls_of(history: RepositoryHistory, not_pulls: frozenset[int] = frozenset()) -> tuple[Pull, ...]:
    """Every pull request by number; of two with one number, the one on the default branch, then the earlier.

    A number that was in use before its time is another tracker's, such as `(#18308)` in a commit of 2009 where GitHub's
    numbers came to that in 2024: it names no pull request.
    """
    found: dict[int, Pull] = {}
    aside: list[Pull] = []
    seen: set[str] = set()
    for commit in history.mainline():
        fresh = _fresh(history, commit, seen)
        seen |= fresh | {commit.oid}
        if pull := _pull(history, commit, fresh, history.branch):
            found.setdefault(pull.number, pull)
        aside.extend(_aside(history, commit, fresh))
    for pull in aside:
        found.setdefault(pull.number, pull)
    return _dated(_in_their_time([found[number] for number in sorted(found) if number not in not_pulls]))


def _fresh(history: RepositoryHistory, commit: HistoryCommit, seen: set[str]) -> set[str]:
    """What a merge brought in."""
    fresh: set[str] = set()
    waiting = list(commit.parents[1:])
    while waiting:
        oid = waiting.pop()
        if oid not in seen and oid not in fresh and oid in history.commits:
            fresh.add(oid)
            waiting.extend(history.commits[oid].parents)
    return fresh


def _aside(history: RepositoryHistory, merge: HistoryCommit, fresh: set[str]) -> Iterator[Pull]:
    """Pull requests into another branch, which then came in as a whole; and those within pull requests."""
    named = _BRANCH.match(merge.subject)
    branch = named[1] if named else "another"
    if len(merge.parents) > 1 and _number(merge) is None:
        for commit in history.line(merge.parents[1], fresh):
            if len(commit.parents) == 1 and (pull := _pull(history, commit, set(), branch)):
                yield pull
    for oid in sorted(fresh):
        commit = history.commits[oid]
        if len(commit.parents) == 2 and _number(commit) is not None:
            theirs = history.reachable(commit.parents[1], fresh) - history.reachable(commit.parents[0], fresh)
            if pull := _pull(history, commit, theirs, branch):
                yield pull


def _number(commit: HistoryCommit) -> int | None:
    """The pull request that a commit says it is."""
    match = (_MERGED.match(commit.subject) if len(commit.parents) == 2 else None) or _TITLED.match(commit.subject)
    return int(match["number"]) if match and 1 <= len(commit.parents) <= 2 else None


def _pull(history: RepositoryHistory, commit: HistoryCommit, fresh: set[str], branch: str) -> Pull | None:
    number = _number(commit)
    if number is None:
        return None
    titled = _TITLED.match(commit.subject)
    if len(commit.parents) == 1:
        assert titled
        head = hashlib.sha1(f"head of {commit.oid}".encode(), usedforsecurity=False).hexdigest()
        only = replace(commit, oid=head, message=f"{titled['title']}\n\n{commit.rest}".strip())
        listed = (commit.parents[0], commit.oid)
        return _made(number, titled["title"], commit.rest, branch, commit, head, (only,), listed)
    commits = tuple(history.commits[oid] for oid in sorted(fresh, key=history.places.__getitem__))
    title = titled["title"] if titled else commit.rest.partition("\n")[0] or commit.subject
    said = commit.rest if titled else ""
    body = said or (commits[0].rest if len(commits) == 1 else "")
    into, head = commit.parents
    left_at = history.merge_base(into, head, commits)
    listed = (left_at, head) if left_at and commits else (into, commit.oid)
    return _made(number, title, body, branch, commit, head, commits, listed)


def _made(
    number: int,
    title: str,
    body: str,
    branch: str,
    merge: HistoryCommit,
    head: str,
    commits: tuple[HistoryCommit, ...],
    listed: tuple[str, str],
) -> Pull:
    begun = min([merge.committed, *(commit.authored for commit in commits)])
    return Pull(
        number=number,
        title=title,
        body=body,
        base_branch=branch,
        merge=merge,
        head=head,
        commits=commits,
        listed=listed,
        created=begun,
    )


def _in_their_time(pulls: list[Pull]) -> list[Pull]:
    """Those that were not merged a year before three quarters of the numbers around them.

    Numbers rise with the opening, so nothing of the kind can be; one such date would date all lower numbers.
    """
    merged = [pull.merged for pull in pulls]
    kept: list[Pull] = []
    for place, pull in enumerate(pulls):
        around = sorted(merged[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1])
        if pull.merged + _LATE >= around[len(around) // 4]:
            kept.append(pull)
    return kept


def _dated(pulls: list[Pull]) -> tuple[Pull, ...]:
    """Creation dates that rise with the numbers: not after any higher number was merged, else as late as begun."""
    ceilings: list[datetime] = []
    for pull in reversed(pulls):
        ceilings.append(min(pull.merged, ceilings[-1]) if ceilings else pull.merged)
    dated: list[Pull] = []
    for pull, ceiling in zip(pulls, reversed(ceilings), strict=True):
        created = min(pull.created, ceiling)
        dated.append(replace(pull, created=max(created, dated[-1].created) if dated else created))
    return tuple(dated)
