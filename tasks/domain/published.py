"""What a published snapshot says of its instances, and of its difference to the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import InstanceId, InstanceKey, SnapshotName
from tasks.domain.table import table


class ChangeKind(StrEnum):
    """What happened to an instance between two snapshots."""

    ADDED = "added"
    RETIRED = "retired"
    REPAIRED = "repaired"
    """The same pull request with another base, patch or tests, or with other lists of cases."""


@table("snapshot", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChange:
    """One instance that differs between a snapshot and the one before. What is not named is the same in both."""

    snapshot: SnapshotName
    previous: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    """In `snapshot`; of a retired instance, in `previous`."""
    change: ChangeKind
    reason: str
    """Of a retired instance: why it is not valid any more (`validation.reason`); else what differs."""
    detail: str


@table("snapshot", "instance_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A published snapshot, or one instance of it, that is not to be used any more. Its rows stay."""

    snapshot: str
    reason: str
    withdrawn_at: datetime
    instance_id: str = ""
    """Empty where it is the whole snapshot. An instance is not published again, in whatever month."""


class Flag(StrEnum):
    """What makes an instance doubtful."""

    PLACEHOLDER = "placeholder"
    """The statement is no text of the issue: for trials only."""
    ONLY_LINK = "only_link"
    """What reproduces the issue lies behind a link."""
    ONLY_PICTURE = "only_picture"
    """The same with a picture."""
    NOT_ENGLISH = "not_english"
    SHORT = "short"
    LONG = "long"
    UNNAMED = "unnamed"
    """The golden tests use a name that the golden patch makes and the statement does not give."""
    EXACT_WORDING = "exact_wording"
    """The golden tests hold a message of the golden patch word for word, and the statement does not give it."""
    NAMES_NOTHING = "names_nothing"
    """The statement and what the tests and the patch touch have no name in common."""
    SEVERAL_ISSUES = "several_issues"
    """The pull request closes several issues: the statement has all of them."""
    SHARED_ISSUE = "shared_issue"
    """Another pull request closes the same issue: neither may fix the whole of it."""
    SAME_PULL_REQUEST = "same_pull_request"
    """An imported snapshot has an instance of this pull request, with another base or other patches."""


@table("snapshot", "origin", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFlag:
    """One doubt about an instance. It rejects nothing; an instance without a row has none."""

    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    flag: Flag
    detail: str
    """What was found."""
    origin: str
    """Who says so: `rules`, or a model's or a person's name."""


@table("instance_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFact:
    """What can be counted about an instance without running it. Source files are Python files that are no tests."""

    instance_key: InstanceKey
    instance_id: InstanceId
    statement_words: int
    """Of the issue's statement."""
    source_files: int
    """At the base commit."""
    source_lines: int
    """Of all source files."""
    patch_files: int
    """Files that the golden patch changes."""
    patch_new_files: int
    """Files that the golden patch adds or deletes."""
    patch_hunks: int
    """Of the golden patch."""
    patch_added: int
    """Lines that the golden patch adds."""
    patch_removed: int
    """Lines that it removes."""
    test_files: int
    """Files that the golden tests touch."""
    test_added: int
    """Lines that the golden tests add."""
    test_removed: int
    """Lines that they remove."""
    links: int
    """Web addresses in the statement."""
    images: int
    commits: int
    """Hexadecimal numbers that look like commits."""
    references: int
    """`#123` and `owner/name#123`: other issues or pull requests."""
