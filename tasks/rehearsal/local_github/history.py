"""A git history → its commits, and the changed files of any of them: one `git log` for all, one for a page of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.git.command import Git

_FORMAT = "%H%x00%P%x00%at%x00%ct%x00%an%x00%B%x1e"
_DIFF = ("--no-walk=unsorted", "--stdin", "--diff-merges=first-parent", "--raw", "--numstat", "-M", "-z")
_STATUS = {"A": "ADDED", "C": "COPIED", "D": "DELETED", "M": "MODIFIED", "R": "RENAMED", "T": "CHANGED"}


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """One commit."""

    oid: str
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
    """One file of a commit, against its first parent."""

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
    _files: dict[str, tuple[ChangedFile, ...]] = field(default_factory=dict)

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

    def files(self, oids: Iterable[str]) -> None:
        """Read the changed files of several commits at once."""
        missing = sorted(set(oids) - self._files.keys())
        if missing:
            self._files.update(_read_files(self.git, self.folder, missing))

    def files_of(self, oid: str) -> tuple[ChangedFile, ...]:
        """The changed files of a commit, sorted by path as GitHub does."""
        self.files([oid])
        return self._files[oid]


def read_history(git: Git, folder: Path) -> RepositoryHistory:
    """Index the default branch of the repository at `folder`; `GitFailed` where there is none."""
    where = ("-C", str(folder))
    branch = git.run(*where, "symbolic-ref", "--short", "HEAD").decode().strip()
    head = git.run(*where, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    log = git.run(*where, "log", "--topo-order", "--reverse", f"--format={_FORMAT}", head)
    records = log.decode("utf-8", "replace").split("\x1e")
    commits = [_commit(record) for record in records if record.strip()]
    places = {commit.oid: place for place, commit in enumerate(commits)}
    return RepositoryHistory(git, folder, branch, {commit.oid: commit for commit in commits}, places, head)


def _commit(record: str) -> HistoryCommit:
    oid, parents, authored, committed, author, message = record.lstrip("\n").split("\0", 5)
    return HistoryCommit(
        oid, tuple(parents.split()), _moment(authored), _moment(committed), author, message.strip("\n")
    )


def _moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _read_files(git: Git, folder: Path, oids: list[str]) -> dict[str, tuple[ChangedFile, ...]]:
    listing = "\n".join(oids).encode()
    # The record separator cannot stand in `--raw -z` output, and hardly in a path.
    out = git.run("-C", str(folder), "log", *_DIFF, "--format=%x1e%H", stdin=listing)
    found: dict[str, tuple[ChangedFile, ...]] = dict.fromkeys(oids, ())
    for record in out.decode("utf-8", "replace").split("\x1e")[1:]:
        oid, _, rest = record.partition("\0")
        found[oid.strip()] = tuple(sorted(_changed(rest.split("\0")), key=lambda file: file.path))
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
