"""What the local GitHub knows: repositories, how far their history is released, and what was changed while it ran."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

from tasks.adapters.git.command import Git
from tests.fakes.local_github.changelog import entries_of, with_changelog
from tests.fakes.local_github.history import RepositoryHistory, read_history
from tests.fakes.local_github.issues import LocalIssue, read_issues, with_links
from tests.fakes.local_github.pulls import Pull, pulls_of


@dataclass(slots=True, kw_only=True)
class LocalRepository:
    """One repository with its whole future; `World` shows it up to a date."""

    name: str
    """`owner/name`."""
    history: RepositoryHistory
    pulls: Mapping[int, Pull]
    issues: Mapping[int, LocalIssue]
    license: str | None = None
    """SPDX id; null where nobody said."""
    touched: dict[int, list[datetime]] = field(default_factory=dict)
    """Number → when somebody changed it while the server ran."""


def open_repository(
    name: str, folder: Path, *, issues: Path | None, scratch: Path, license: str | None = None
) -> LocalRepository:
    """Index a git repository and its issue file. `GitFailed` or `BadInput` where one of them cannot be read."""
    history = read_history(Git(scratch), folder)
    known = read_issues(issues) if issues else {}
    entries = entries_of(history)
    pulls = with_changelog(entries, pulls_of(history, frozenset(known)))
    return LocalRepository(
        name=name,
        history=history,
        pulls={pull.number: pull for pull in pulls},
        issues=with_links(known, pulls, entries),
        license=license,
    )


class Disagreement(StrEnum):
    """How what GitHub says of one pull request is made to differ from git: each makes a proof of its base fail."""

    COUNTS = "counts"
    """Its first file has a line more."""
    FILES = "files"
    """Its last file is counted and not listed."""
    OTHER_MERGE = "other-merge"
    """Its merge commit is one that nobody has."""
    NO_MERGE = "no-merge"
    """It has none."""


@dataclass(slots=True)
class World:
    """All repositories at one moment. What is later than `until` has not happened yet."""

    repositories: dict[str, LocalRepository]
    until: datetime | None = None
    """Null shows everything."""
    vanished: dict[str, int] = field(default_factory=dict)
    """Repository → 404 or 451."""
    deleted: dict[str, set[int]] = field(default_factory=dict)
    """Repository → numbers that are listed no longer."""
    unlisted: dict[str, int] = field(default_factory=dict)
    """Repository → how many issues more it counts than it lists."""
    disagreements: dict[str, dict[int, Disagreement]] = field(default_factory=dict)
    """Repository → pull requests of which something else is said than git says."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Repository → what it is called now; it answers under both names."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    answers: dict[tuple[object, ...], Mapping[str, Any]] = field(default_factory=dict)
    """What was answered before, by question and `state`."""

    @property
    def state(self) -> tuple[object, ...]:
        """Equal while every question has the same answer."""
        touches = sum(len(times) for held in self.repositories.values() for times in held.touched.values())
        deleted = {name: sorted(numbers) for name, numbers in self.deleted.items()}
        changed = (self.vanished, self.unlisted, self.renamed, self.disagreements, deleted)
        return (self.until, touches, repr(changed))

    def has_happened(self, moment: datetime) -> bool:
        return self.until is None or moment <= self.until

    def pulls(self, repository: LocalRepository) -> Iterable[Pull]:
        """Those that are merged by now."""
        return (pull for pull in repository.pulls.values() if self.shows(repository, pull.number, pull.merged))

    def issues(self, repository: LocalRepository) -> Iterable[LocalIssue]:
        """Those that are open by now, or were."""
        return (issue for issue in repository.issues.values() if self.shows(repository, issue.number, issue.created))

    def shows(self, repository: LocalRepository, number: int, since: datetime) -> bool:
        return self.has_happened(since) and number not in self.deleted.get(repository.name, ())

    def called(self, repository: LocalRepository) -> str:
        """Its name now."""
        return self.renamed.get(repository.name, repository.name)

    def pull_updated(self, repository: LocalRepository, pull: Pull) -> datetime:
        return max([pull.merged, *repository.touched.get(pull.number, [])])

    def issue_updated(self, repository: LocalRepository, issue: LocalIssue) -> datetime:
        """When the last thing happened to it."""
        moments: list[datetime] = [issue.created, *repository.touched.get(issue.number, [])]
        moments += [issue.closed] if issue.closed else []
        moments += [comment.updated for comment in issue.comments]
        moments += [edit.at for edit in issue.edits]
        moments += [rename.at for rename in issue.renames]
        moments += [closing.at for closing in issue.closings]
        return max(moment for moment in moments if self.has_happened(moment) or moment == issue.created)

    def touch(self, repository: LocalRepository, number: int, at: datetime) -> None:
        """Somebody labels it: its `updatedAt` and its content change."""
        with self.lock:
            repository.touched.setdefault(number, []).append(at.replace(microsecond=0))

    def touch_something(self, repository: LocalRepository, at: datetime, random: Random) -> None:
        numbers = [pull.number for pull in self.pulls(repository)] + [issue.number for issue in self.issues(repository)]
        if numbers:
            self.touch(repository, random.choice(numbers), at)
