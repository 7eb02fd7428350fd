"""A repository with a pull request merged in each way, and rows that say of them what GitHub would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scratch_git import git

from tasks.adapters.git.changes import Changes
from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.collect import Issue, IssueLink, LinkSource, PullRequest
from tasks.domain.names import RepoName, RepoPath, Sha

REPO = RepoName("owner/name")
START = datetime(2026, 1, 1, tzinfo=UTC)
TEN = "".join(f"line {number}\n" for number in range(10))


def day(number: int) -> datetime:
    return START.replace(day=number)


@dataclass
class Source:
    """A working copy to make history in."""

    folder: Path

    def git(self, *args: str) -> str:
        return git(self.folder, *args)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "x") -> Sha:
        """Write (null: delete) files and commit them all."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> Sha:
        return Sha(self.git("rev-parse", "HEAD"))

    def changes(self, mirrors: Path) -> Changes:
        """The repository itself stands for its mirror."""
        mirrors.mkdir(parents=True, exist_ok=True)
        mirror = mirrors / "owner__name.git"
        if not mirror.exists():
            mirror.symlink_to(self.folder / ".git")
        return Changes(Mirrors(mirrors), REPO)

    def branch(self, *steps: Mapping[str, str | bytes | None]) -> tuple[Sha, ...]:
        """A branch `work` at the tip of main with a commit for each step; main is checked out again."""
        self.git("checkout", "--quiet", "-B", "work", "main")
        made = tuple(self.commit(step) for step in steps)
        self.git("update-ref", f"refs/pull/{made[-1][:8]}/head", made[-1])
        self.git("checkout", "--quiet", "main")
        return made


def new_source(folder: Path) -> Source:
    folder.mkdir()
    source = Source(folder)
    source.git("init", "--quiet", "--initial-branch=main")
    source.commit({"pkg/a.py": TEN, "pkg/b.py": TEN, "tests/test_a.py": TEN})
    return source


def pull_row(
    number: int,
    files: Mapping[str, tuple[int, int]],
    *,
    merge: Sha | None,
    commits: tuple[Sha, ...] = (),
    **fields: object,
) -> PullRequest:
    """A merged pull request with this list of files (added, removed)."""
    row: dict[str, object] = {
        "repo": REPO,
        "number": number,
        "title": "A fix",
        "body": "",
        "author": "ada",
        "author_kind": "User",
        "labels": (),
        "created_at": day(5),
        "merged_at": day(number),
        "updated_at": day(6),
        "base_branch": "main",
        "head_commit": commits[-1] if commits else Sha(""),
        "merge_commit": merge,
        "first_commit": commits[0] if commits else None,
        "first_commit_parents": (),
        "begun_at": day(4),
        "commits": max(1, len(commits)),
        "commit_ids": commits,
        "commit_messages": ("x",) * len(commits),
        "merge_message": "",
        "changed_files": len(files),
        "additions": sum(added for added, _ in files.values()),
        "deletions": sum(removed for _, removed in files.values()),
        "paths": tuple(map(RepoPath, files)),
        "path_additions": tuple(added for added, _ in files.values()),
        "path_deletions": tuple(removed for _, removed in files.values()),
        "path_changes": ("modified",) * len(files),
        "closing_references": (),
        "complete": True,
    }
    return PullRequest(**(row | fields))  # type: ignore[arg-type]


def issue_row(number: int = 90, **fields: object) -> Issue:
    row: dict[str, object] = {
        "repo": REPO,
        "number": number,
        "title": "It breaks when asked",
        "body": "I did this and that, and then it said that it would not do so.",
        "author": "bob",
        "labels": (),
        "created_at": day(1),
        "closed_at": None,
        "updated_at": day(6),
        "edited_at": None,
        "edit_times": (),
        "edit_texts": (),
        "edits_complete": True,
        "rename_times": (),
        "rename_titles": (),
        "comment_authors": (),
        "comment_times": (),
        "comment_touched": (),
        "comment_texts": (),
        "closers": (),
        "complete": True,
    }
    return Issue(**(row | fields))  # type: ignore[arg-type]


def link_row(number: int, issue: int = 90, **fields: bool) -> IssueLink:
    marks = {"known": True, "is_pull_request": False, "opened_after": False, "other_repository": False} | fields
    return IssueLink(repo=REPO, number=number, issue_repo=REPO, issue=issue, sources=(LinkSource.BODY,), **marks)
