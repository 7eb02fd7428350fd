"""Bare mirrors, one per repository: where base commits, files and dates come from. Only `add` ever writes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.git.command import Git
from tasks.adapters.git.objects import Object, objects_of
from tasks.adapters.git.sources import git_source, is_local
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.names import repo_folder


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit."""

    path: str
    """Undecodable bytes are kept as surrogate escapes."""
    mode: str
    """Git's: `100644`, `100755`, `120000` (link), `160000` (submodule)."""
    sha: str

    @property
    def is_plain(self) -> bool:
        """Whether it is a file with contents of its own."""
        return self.mode.startswith("100")


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Bare repositories below `root`:

    root/
    ├── gitconfig               the only configuration that git sees
    ├── <owner>__<name>.git
    ├── .<owner>__<name>.git.lock     held while a mirror is copied or fetched
    └── .<owner>__<name>.git.half     a copy in the making; what a killed one left goes at the next
    """

    root: Path

    def path(self, repo: str) -> Path:
        """The mirror of `owner/name`; `NotFound` where there is none."""
        path = self._path(repo)
        if not path.is_dir():
            raise NotFound(f"there is no mirror of {repo} in {self.root}", hint=_how_to_add(repo))
        return path

    def add(self, repo: str, source: Path | str) -> Path:
        """Copies the repository at `source` (a folder or a URL) with all its refs, or fetches what is new in it.

        A copy of a folder shares its packs by hard links where the file system can, and needs the folder no more.
        Nothing is pruned: a commit that a snapshot names must not vanish because a branch was moved. Where a branch was
        moved away from its commits, `refs/kept/<commit>` goes on naming them.

        `BadInput` if git may not copy from `source`.
        """
        path, place = self._path(repo), git_source(source)
        half = path.with_name(f".{path.name}.half")
        if is_local(source) and self._git.attempt("ls-remote", "--heads", "--", place).returncode != 0:
            raise NotFound(f"there is no git repository at {source}", hint=_how_to_add(repo))
        with file_lock(path.with_name(f".{path.name}.lock")):
            if path.is_dir():
                before = self._heads(path)
                self._git.run("--git-dir", str(path), "fetch", "--quiet", "--force", "--", place, "+refs/*:refs/*")
                self._keep(path, before)
                return path
            shutil.rmtree(half, ignore_errors=True)
            try:
                self._git.run("clone", "--quiet", "--mirror", "--no-tags", "--", place, str(half))
                half.rename(path)
            finally:
                shutil.rmtree(half, ignore_errors=True)
        return path

    def _heads(self, path: Path) -> dict[str, str]:
        """Branch → its commit."""
        told = self._git.run("--git-dir", str(path), "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
        return dict(line.split(" ") for line in told.decode().splitlines())

    def _keep(self, path: Path, before: dict[str, str]) -> None:
        """Name the commits that a branch left behind when it was moved by force."""
        now = self._heads(path)
        at = ("--git-dir", str(path))
        for branch, old in before.items():
            if now.get(branch) == old:
                continue
            forward = self._git.attempt(
                *at, "merge-base", "--is-ancestor", "--end-of-options", old, now.get(branch, old)
            )
            if forward.returncode != 0:
                self._git.run(*at, "update-ref", "--end-of-options", f"refs/kept/{old}", old)

    def reach(self, source: Path | str) -> None:
        """Ask a source for its branches, and copy nothing. `GitFailed` if it does not answer, `BadInput` as `add`."""
        self._git.run("ls-remote", "--quiet", "--heads", "--", git_source(source), "HEAD")

    def has_commit(self, repo: str, sha: str) -> bool:
        """Whether the mirror holds the commit; `NotFound` where there is no mirror."""
        return self._find(repo, f"{_plain(sha)}^{{commit}}") is not None

    def commit(self, repo: str, sha: str) -> str:
        """The full name of a commit; `NotFound` where the mirror lacks it."""
        return self._commit(repo, sha).name

    def committed_at(self, repo: str, sha: str) -> datetime:
        """The committer date, UTC."""
        headers = self._commit(repo, sha).data.partition(b"\n\n")[0].split(b"\n")
        committer = next(line for line in headers if line.startswith(b"committer "))
        return datetime.fromtimestamp(int(committer.split()[-2]), UTC)

    def read_file(self, repo: str, sha: str, path: str) -> bytes | None:
        """The bytes of a file of a commit (of a link: where it points); null where there is no such file."""
        name = f"{_plain(sha)}:{path}"
        if "\n" in path:
            done = self._git.attempt("--git-dir", str(self.path(repo)), "cat-file", "blob", "--end-of-options", name)
            return done.stdout if done.returncode == 0 else None
        found = self._find(repo, name)
        if found and found.kind == "blob":
            return found.data
        self.commit(repo, sha)
        return None

    def list_paths(self, repo: str, sha: str) -> tuple[str, ...]:
        """Every file of a commit, sorted as git sorts."""
        return tuple(entry.path for entry in self.entries(repo, sha))

    def entries(self, repo: str, sha: str) -> tuple[TreeEntry, ...]:
        """Every file of a commit with its mode and blob."""
        full = self.commit(repo, sha)
        asked = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", full)
        listing = self._git.run("--git-dir", str(self.path(repo)), *asked)
        return tuple(_entry(line) for line in listing.split(b"\0") if line)

    def submodule(self, repo: str, sha: str, path: str) -> str | None:
        """The commit that a commit names for its submodule at `path`; null where it has none. Raises as `entries`."""
        found = (entry.sha for entry in self.entries(repo, sha) if entry.path == path and entry.mode == "160000")
        return next(found, None)

    def python_files(self, repo: str, sha: str) -> tuple[TreeEntry, ...]:
        """The Python files of a commit, tests among them, sorted by path; links are left out."""
        found = (entry for entry in self.entries(repo, sha) if entry.is_plain and entry.path.endswith(".py"))
        return tuple(sorted(found, key=lambda entry: entry.path))

    def mentions(self, repo: str, sha: str, text: str) -> bool:
        """Whether a Python file of a commit holds a text, character for character."""
        folder, full = str(self.path(repo)), self.commit(repo, sha)
        told = self._git.attempt("--git-dir", folder, "grep", "--quiet", "--fixed-strings", "-e", text, _plain(full))
        return told.returncode == 0

    def blobs(self, repo: str, shas: Iterable[str]) -> Iterator[bytes]:
        """The contents of many blobs, in order, through one git process."""
        with self._git.talk("--git-dir", str(self.path(repo)), "cat-file", "--batch") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for sha in shas:
                process.stdin.write(sha.encode() + b"\n")
                process.stdin.flush()
                yield _blob(process.stdout, sha)

    @property
    def _git(self) -> Git:
        return Git(self.root)

    def _path(self, repo: str) -> Path:
        return self.root / f"{repo_folder(repo)}.git"

    def _find(self, repo: str, name: str) -> Object | None:
        path = self.path(repo)
        return objects_of(self.root, path, path.stat().st_ino, os.getpid()).get(name)

    def _commit(self, repo: str, sha: str) -> Object:
        found = self._find(repo, f"{_plain(sha)}^{{commit}}")
        if found is None:
            raise NotFound(f"the mirror of {repo} has no commit {sha}", hint=_how_to_add(repo))
        return found


def _how_to_add(repo: str) -> str:
    return f"swt repo add {repo} --git PATH"


def _plain(sha: str) -> str:
    """`sha`, unless it is something that git would read as an option or an expression."""
    if not sha.isalnum():
        raise BadInput(f"{sha!r} is not a commit", hint="give the 40 hexadecimal digits of a commit")
    return sha


def _entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, sha = facts.decode().split(" ")
    return TreeEntry(path.decode("utf-8", "surrogateescape"), mode, sha)


def _blob(stream: IO[bytes], sha: str) -> bytes:
    """One answer of `git cat-file --batch`."""
    header = stream.readline().split()
    if len(header) != 3:
        raise NotFound(f"blob {sha} is missing from the mirror", hint="add the repository anew from a complete clone")
    data = stream.read(int(header[2]))
    stream.read(1)
    return data
