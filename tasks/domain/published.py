"""Facts about the instances of a published snapshot, and about its differences from the previous snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import InstanceId, InstanceKey, SnapshotName
from tasks.domain.table import table


class ChangeKind(StrEnum):
    """The kind of change of an instance between two snapshots."""

    ADDED = "added"
    RETIRED = "retired"
    REPAIRED = "repaired"
    """The same pull request with another base, patch or tests, or with other lists of cases."""


@table("snapshot", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChange:
    """One instance that differs between a snapshot and the previous one. Instances without a row are equal in both."""

    snapshot: SnapshotName
    previous: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    """The key in `snapshot`; for a retired instance, in `previous`."""
    change: ChangeKind
    reason: str
    """For a retired instance: why it is not valid any more (`validation.reason`); else the difference."""
    detail: str


@table("snapshot", "instance_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A published snapshot, or one instance of it, that must not be used any more. Its rows stay."""

    snapshot: str
    reason: str
    withdrawn_at: datetime
    instance_id: str = ""
    """Empty for a whole snapshot. A withdrawn instance is not published again in any month."""


class Flag(StrEnum):
    """A possible defect of an instance."""

    PLACEHOLDER = "placeholder"
    """The statement is not the text of an issue: for trials only."""
    ONLY_LINK = "only_link"
    """The issue has its reproduction only behind a link."""
    ONLY_PICTURE = "only_picture"
    """The issue has its reproduction only in a picture."""
    NOT_ENGLISH = "not_english"
    SHORT = "short"
    LONG = "long"
    UNNAMED = "unnamed"
    """The golden tests use a name that the golden patch introduces and the statement does not contain."""
    EXACT_WORDING = "exact_wording"
    """The golden tests contain a message of the golden patch word for word, and the statement does not contain it."""
    NAMES_NOTHING = "names_nothing"
    """The statement shares no name with the code that the tests and the patch change."""
    SEVERAL_ISSUES = "several_issues"
    """The pull request closes several issues: the statement contains all of them."""
    SHARED_ISSUE = "shared_issue"
    """Another pull request closes the same issue: each may fix only a part of it."""
    SAME_PULL_REQUEST = "same_pull_request"
    """An imported snapshot has an instance of this pull request, with another base or other patches."""


@table("snapshot", "origin", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFlag:
    """One possible defect of an instance. It rejects nothing; an instance without a row has no known defect."""

    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    flag: Flag
    detail: str
    """The content that caused the flag."""
    origin: str
    """The source of the flag: `rules`, or a model's or a person's name."""


@table("instance_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFact:
    """Counts about an instance that need no run. Source files are Python files that are no tests."""

    instance_key: InstanceKey
    instance_id: InstanceId
    statement_words: int
    """Words of the issue's statement."""
    source_files: int
    """Source files at the base commit."""
    source_lines: int
    """Lines of all source files."""
    patch_files: int
    """Files that the golden patch changes."""
    patch_new_files: int
    """Files that the golden patch adds or deletes."""
    patch_hunks: int
    """Hunks of the golden patch."""
    patch_added: int
    """Lines that the golden patch adds."""
    patch_removed: int
    """Lines that the golden patch removes."""
    test_files: int
    """Files that the golden tests change."""
    test_added: int
    """Lines that the golden tests add."""
    test_removed: int
    """Lines that the golden tests remove."""
    links: int
    """Web addresses in the statement."""
    images: int
    commits: int
    """Hexadecimal numbers that may be commits."""
    references: int
    """`#123` and `owner/name#123`: other issues or pull requests."""
