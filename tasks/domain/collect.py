"""Data collected from GitHub, the links between them, and why a pull request did not become an instance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import RepoName, RepoPath, Sha
from tasks.domain.table import table


class LinkSource(StrEnum):
    """Evidence that a pull request closes an issue. One link may have several."""

    CLOSING_REFERENCE = "closing_reference"
    """GitHub's own list in the pull request."""
    CLOSED_EVENT = "closed_event"
    """The issue's history names the pull request, or one of its commits, as the closer."""
    TITLE = "title"
    BODY = "body"
    COMMIT_MESSAGE = "commit_message"


class MergeKind(StrEnum):
    """How a pull request was merged into its branch."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"
    FAST_FORWARD = "fast-forward"


class StatementMode(StrEnum):
    """How well the statement could be restored to its text before the fix; of several issues, the weakest.

    The members are ordered from the strongest to the weakest.
    """

    UNEDITED = "unedited"
    """The issue was not edited after the work on the fix began."""
    RESTORED = "restored"
    """The issue was edited later; the text is the version before that."""
    AS_FETCHED = "as_fetched"
    """The issue was edited later and no earlier version is available: the text may reveal the fix."""
    RECONSTRUCTED = "reconstructed"
    """The text is reconstructed from a git history that contains the fix, not from an issue: for trials only."""


TRIAL_LABEL = "trial: put together from git history"
"""Label of an issue with a text that a local GitHub reconstructed. Such data are no benchmark."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One merged pull request in GitHub's data. The `path_*` lists are parallel, and so are the `commit_*` lists."""

    repo: RepoName
    number: int
    title: str
    body: str
    author: str | None
    """Login; null if the account was deleted."""
    author_kind: str
    """GitHub's type: `User`, `Bot`, `Mannequin`, `Organization`; empty if the account was deleted."""
    labels: tuple[str, ...]
    created_at: datetime
    merged_at: datetime | None
    updated_at: datetime
    base_branch: str
    head_commit: Sha
    merge_commit: Sha | None
    """Null if GitHub has none."""
    first_commit: Sha | None
    """The first commit of the branch; null if GitHub lists none."""
    first_commit_parents: tuple[Sha, ...]
    begun_at: datetime
    """Start of the fix: the earlier of the first commit's author date and the opening of the pull request."""
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
    """Whether every list above has as many entries as GitHub counts."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue with its history. The lists with one prefix are parallel, oldest first."""

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
    """When the body was last edited; null if never."""
    edit_times: tuple[datetime, ...]
    edit_texts: tuple[str, ...]
    """The whole body after each edit. If there are any, the first entry is the original body."""
    edits_complete: bool
    """Whether no version is missing (users can delete old versions)."""
    rename_times: tuple[datetime, ...]
    rename_titles: tuple[str, ...]
    """The title before each renaming."""
    comment_authors: tuple[str, ...]
    """Empty if the account was deleted."""
    comment_times: tuple[datetime, ...]
    comment_touched: tuple[datetime, ...]
    """When each comment was last edited, else written."""
    comment_texts: tuple[str, ...]
    closers: tuple[str, ...]
    """Closers of the issue: `owner/name#number` for a pull request, `owner/name@sha` for a commit."""
    complete: bool
    """Whether every list above has as many entries as GitHub counts."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLink:
    """A claim, by the pull request or by GitHub, that the pull request closes an issue."""

    repo: RepoName
    number: int
    issue_repo: RepoName
    issue: int
    sources: tuple[LinkSource, ...]
    known: bool
    """Whether the store has the issue."""
    is_pull_request: bool
    """The number belongs to a pull request."""
    opened_after: bool
    """The issue was opened after the pull request, so the pull request does not fix it."""
    other_repository: bool

    @property
    def usable(self) -> bool:
        """Whether the issue can be an instance's statement."""
        return self.known and not (self.is_pull_request or self.opened_after or self.other_repository)


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class PullBase:
    """The commit that a pull request changed, verified with a mirror and GitHub's counts."""

    repo: RepoName
    number: int
    kind: MergeKind | None
    base_commit: Sha | None
    fixed_commit: Sha | None
    """The commit whose difference to the base is the pull request: the merge commit, or the branch's head."""
    base_verified: str
    """`numstat`: the files and their added and removed lines equal GitHub's list. Empty if no base is verified."""
    reason: str
    """Slug of why not: `no-merge-commit`, `not-in-mirror`, `list-incomplete`, `counts-differ`; empty if verified."""
    tried: tuple[Sha, ...]
    """Candidates for the base, in order; the last one is accepted if `base_verified` is not empty."""
    committed_at: datetime | None
    """Committer date of the base commit, UTC."""
    patch_id: str
    """git's stable patch id of the whole change; empty if it was not computed."""
    reverse_patch_id: str
    """git's stable patch id of the reverse change."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A rule that a pull request violates, one row per rule. A pull request without a row becomes an instance."""

    repo: RepoName
    number: int
    rule: str
    detail: str
    """The violating content."""


@table("repo", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """GitHub's data about a repository as a whole, at the last request."""

    repo: RepoName
    """Name in this project's list."""
    name_now: str
    """Current `owner/name` on GitHub."""
    licence: str | None
    """SPDX identifier that GitHub detected; null if it detected none, or an unknown licence."""
    default_branch: str | None
    archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository from which instances are collected: a table of `data/repositories.toml`."""

    repo: RepoName
    licence: str
    """SPDX identifier."""
    default_branch: str
    test_globs: tuple[str, ...] = ()
    """Paths that are tests although their names do not indicate it; `*` matches `/` too."""
    source_globs: tuple[str, ...] = ()
    """Paths that are no tests although their names suggest it, such as a library's own testing tools."""
