"""A git history → its commits, and the changed files of any two of them: one git process for all, one for a page.

Records are told apart by NUL, which can stand in no message and no path: a history may have any other byte in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.git.command import Git

_FORMAT = "%H%x00%T%x00%P%x00%at%x00%ct%x00%an%x00%B"
_FIELDS = 7
_DIFF = ("--stdin", "-r", "-z", "-M", "--raw", "--numstat")
_PAIR = re.compile(r"(?:(?<=\0)|(?<=\n)|\A)([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_STATUS = {"A": "ADDED", "C": "COPIED", "D": "DELETED", "M": "MODIFIED", "R": "RENAMED", "T": "CHANGED"}


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """One commit."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    authored: datetime
    committed: datetime
    author: str
    message: str

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def rest(self) -> str:
        """The message below its subject."""
        return self.message.partition("\n")[2].strip("\n")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a difference between two commits, renames followed."""

    path: str
    additions: int
    deletions: int
    change: str
    """A `PatchStatus` of GitHub."""


@dataclass(slots=True)
class RepositoryHistory:
    """All that can be reached from the head of a repository's default branch."""

    git: Git
    folder: Path
    """The repository: bare or not."""
    branch: str
    commits: dict[str, HistoryCommit]
    """Parents before children."""
    places: dict[str, int]
    """Where each stands among them."""
    head: str
    _files: dict[tuple[str, str], tuple[ChangedFile, ...]] = field(default_factory=dict)
    """By old and new tree."""

    def mainline(self) -> list[HistoryCommit]:
        """The commits that the default branch itself went through, oldest first."""
        return list(self.line(self.head, set(self.commits)))[::-1]

    def line(self, oid: str, within: set[str]) -> Iterator[HistoryCommit]:
        """First parents from a commit on, as long as they are in a set."""
        while oid in within:
            commit = self.commits[oid]
            yield commit
            oid = commit.parents[0] if commit.parents else ""

    def reachable(self, oid: str, within: set[str]) -> set[str]:
        """What can be reached from a commit without leaving a set."""
        found: set[str] = set()
        waiting = [oid]
        while waiting:
            here = waiting.pop()
            if here in within and here not in found:
                found.add(here)
                waiting.extend(self.commits[here].parents)
        return found

    def merge_base(self, one: str, other: str, brought: Iterable[HistoryCommit]) -> str | None:
        """Where `other` left `one`; null for unrelated histories. `brought` is what `other` has and `one` has not.

        Nearly always one commit stands before all that was brought; only else git is asked.
        """
        own = {commit.oid: commit for commit in brought}
        before = {parent for commit in own.values() for parent in commit.parents if parent not in own} or {other}
        if len(before) == 1:
            (only,) = before
            return None if only in own else only
        done = self.git.attempt("-C", str(self.folder), "merge-base", "--end-of-options", one, other)
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def read_files(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Read the changed files between several pairs of commits at once."""
        missing = sorted({self._trees(old, new) for old, new in pairs} - self._files.keys())
        if missing:
            self._files.update(_read_files(self.git, self.folder, missing))

    def files(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        """The changed files between two commits, sorted by path as GitHub does; before a first commit is nothing."""
        self.read_files([(old, new)])
        return self._files[self._trees(old, new)]

    def _trees(self, old: str, new: str) -> tuple[str, str]:
        return (self.commits[old].tree if old else _EMPTY_TREE), self.commits[new].tree


def read_history(git: Git, folder: Path) -> RepositoryHistory:
    """Index the default branch of the repository at `folder`; `GitFailed` where there is none."""
    where = ("-C", str(folder))
    branch = git.run(*where, "symbolic-ref", "--short", "HEAD").decode().strip()
    head = git.run(*where, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    log = git.run(*where, "log", "-z", "--topo-order", "--reverse", f"--format={_FORMAT}", "--end-of-options", head)
    fields = log.decode("utf-8", "replace").split("\0")
    commits = [_commit(fields[start : start + _FIELDS]) for start in range(0, len(fields) - 1, _FIELDS)]
    places = {commit.oid: place for place, commit in enumerate(commits)}
    return RepositoryHistory(git, folder, branch, {commit.oid: commit for commit in commits}, places, head)


def _commit(fields: list[str]) -> HistoryCommit:
    oid, tree, parents, authored, committed, author, message = fields
    return HistoryCommit(
        oid, tree, tuple(parents.split()), _moment(authored), _moment(committed), author, message.strip("\n")
    )


def _moment(seconds: str) -> datetime:
    """git writes down any number for a date: one that no calendar has counts as 1970."""
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(int(seconds), UTC)
    return datetime.fromtimestamp(0, UTC)


def _read_files(git: Git, folder: Path, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], tuple[ChangedFile, ...]]:
    listing = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    out = git.run("-C", str(folder), "diff-tree", *_DIFF, stdin=listing).decode("utf-8", "replace")
    pieces = _PAIR.split(out)[1:]
    found: dict[tuple[str, str], tuple[ChangedFile, ...]] = dict.fromkeys(pairs, ())
    for old, new, told in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True):
        found[old, new] = tuple(sorted(_changed(told.split("\0")), key=lambda file: file.path))
    return found


def _changed(fields: list[str]) -> Iterator[ChangedFile]:
    """Raw entries (`:modes… R100`, path, …) and numstat entries (`1\\t2\\tpath`, or two fields more for a rename)."""
    changes: dict[str, str] = {}
    place = 0
    while place < len(fields):
        text = fields[place].lstrip("\n")
        place += 1
        if text.startswith(":"):
            letter = text.rsplit(" ", 1)[1][0]
            place += 2 if letter in "RC" else 1
            changes[fields[place - 1]] = _STATUS.get(letter, "CHANGED")
        elif text:
            added, deleted, path = text.split("\t")
            if not path:
                place += 2
                path = fields[place - 1]
            yield ChangedFile(path, _count(added), _count(deleted), changes[path])


def _count(text: str) -> int:
    """Lines; git writes `-` for a binary file and GitHub 0."""
    return int(text) if text.isdigit() else 0
