"""What is collected from GitHub, how it hangs together, and why a pull request did not become an instance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import RepoName, RepoPath, Sha
from tasks.domain.table import table


class LinkSource(StrEnum):
    """What says that a pull request closes an issue. One link may have several."""

    CLOSING_REFERENCE = "closing_reference"
    """GitHub's own list of the pull request."""
    CLOSED_EVENT = "closed_event"
    """The issue's history names the pull request, or one of its commits, as what closed it."""
    TITLE = "title"
    BODY = "body"
    COMMIT_MESSAGE = "commit_message"


class MergeKind(StrEnum):
    """How a pull request came into its branch."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"
    FAST_FORWARD = "fast-forward"


class StatementMode(StrEnum):
    """How far a statement could be brought back to what it was before the fix; of several issues, the weakest.

    The weakest stands last.
    """

    UNEDITED = "unedited"
    """Nobody edited it after the fix was begun."""
    RESTORED = "restored"
    """It was edited later; the text is the version before that."""
    AS_FETCHED = "as_fetched"
    """It was edited later, and no earlier version is to be had: the text may know the fix."""
    RECONSTRUCTED = "reconstructed"
    """It is no issue's text but put together from a git history, which knows the fix: for trials only."""


TRIAL_LABEL = "trial: put together from git history"
"""Label of an issue whose text a local GitHub put together. What has it is no benchmark."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One merged pull request, as GitHub tells it. The `path_*` lists go together, and so do the `commit_*` lists."""

    repo: RepoName
    number: int
    title: str
    body: str
    author: str | None
    """Login; null where the account is gone."""
    author_kind: str
    """GitHub's type: `User`, `Bot`, `Mannequin`, `Organization`; empty where the account is gone."""
    labels: tuple[str, ...]
    created_at: datetime
    merged_at: datetime | None
    updated_at: datetime
    base_branch: str
    head_commit: Sha
    merge_commit: Sha | None
    """Null where GitHub knows of none."""
    first_commit: Sha | None
    """The first commit of the branch; null where GitHub lists none."""
    first_commit_parents: tuple[Sha, ...]
    begun_at: datetime
    """When the fix was begun: the earliest of the first commit's author date and the opening of the pull request."""
    commits: int
    commit_ids: tuple[Sha, ...]
    commit_messages: tuple[str, ...]
    merge_message: str
    changed_files: int
    additions: int
    deletions: int
    paths: tuple[RepoPath, ...]
    path_additions: tuple[int, ...]
    path_deletions: tuple[int, ...]
    path_changes: tuple[str, ...]
    """`added`, `changed`, `copied`, `deleted`, `modified` or `renamed`."""
    closing_references: tuple[str, ...]
    """`owner/name#number` each."""
    complete: bool
    """Whether every list above holds all that GitHub counts."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue with its history. The lists of one prefix go together, oldest first."""

    repo: RepoName
    number: int
    title: str
    body: str
    author: str | None
    labels: tuple[str, ...]
    created_at: datetime
    closed_at: datetime | None
    updated_at: datetime
    edited_at: datetime | None
    """When the body was last edited; null where it never was."""
    edit_times: tuple[datetime, ...]
    edit_texts: tuple[str, ...]
    """The whole body after each edit. Where there are any, the first is the body as it was opened."""
    edits_complete: bool
    """Whether no version is missing (people can delete old versions)."""
    rename_times: tuple[datetime, ...]
    rename_titles: tuple[str, ...]
    """The title before each renaming."""
    comment_authors: tuple[str, ...]
    """Empty where the account is gone."""
    comment_times: tuple[datetime, ...]
    comment_touched: tuple[datetime, ...]
    """When each comment was last edited, or written."""
    comment_texts: tuple[str, ...]
    closers: tuple[str, ...]
    """What closed it: `owner/name#number` for a pull request, `owner/name@sha` for a commit."""
    complete: bool
    """Whether every list above holds all that GitHub counts."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLink:
    """A pull request says, or GitHub says of it, that it closes an issue."""

    repo: RepoName
    number: int
    issue_repo: RepoName
    issue: int
    sources: tuple[LinkSource, ...]
    known: bool
    """Whether the store has the issue."""
    is_pull_request: bool
    """The number is a pull request's."""
    opened_after: bool
    """The issue was opened after the pull request, so it is not what it fixes."""
    other_repository: bool

    @property
    def usable(self) -> bool:
        """Whether the issue can be an instance's statement."""
        return self.known and not (self.is_pull_request or self.opened_after or self.other_repository)


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class PullBase:
    """The commit that a pull request changed, as proved from a mirror against GitHub's counts."""

    repo: RepoName
    number: int
    kind: MergeKind | None
    base_commit: Sha | None
    fixed_commit: Sha | None
    """The commit whose difference to the base is the pull request: the merge commit, or the branch's head."""
    base_verified: str
    """`numstat`: the files and their added and removed lines equal GitHub's list. Empty where nothing does."""
    reason: str
    """Slug of why not: `no-merge-commit`, `not-in-mirror`, `list-incomplete`, `counts-differ`; empty if verified."""
    tried: tuple[Sha, ...]
    """Candidates for the base, in order; the last one is accepted where `base_verified` is not empty."""
    committed_at: datetime | None
    """Committer date of the base commit, UTC."""
    patch_id: str
    """git's stable patch id of the whole change; empty where it was not asked for."""
    reverse_patch_id: str
    """The same of the change undone."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A rule that a pull request fails. It has one row for each, and is an instance exactly if it has none."""

    repo: RepoName
    number: int
    rule: str
    detail: str
    """What was found."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """What GitHub says of a repository as a whole, when it was last asked."""

    repo: RepoName
    """As our list calls it."""
    name_now: str
    """`owner/name` as GitHub calls it."""
    licence: str | None
    """SPDX identifier that GitHub found; null where it found none, or one that it cannot name."""
    default_branch: str | None
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository that instances are collected from: a table of `data/repositories.toml`."""

    repo: RepoName
    licence: str
    """SPDX identifier."""
    default_branch: str
    test_globs: tuple[str, ...] = ()
    """Paths that are tests although their names do not say so; `*` matches `/` too."""
    source_globs: tuple[str, ...] = ()
    """Paths that are no tests although their names say so, such as a library's own testing tools."""
