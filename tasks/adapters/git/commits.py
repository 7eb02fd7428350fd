"""Trees for test runs: the files of a code state, and a git repository whose single commit holds just these files.

Tests and version scripts ask git about their checkout. They get one commit without parents, tags or remotes, always of
the same author and date: `git status` is clean on every code state, `git describe` finds no tag, `git log` is short.
`.git/shallow` names the commit, as in a clone of depth 1, so version scripts see that there is no history to read.

The repository of a base commit is packed once; for Django that is 13 MB. A run that applies patches adds the objects
that differ and moves the branch: 0.03 CPU seconds. The objects of the base commit stay in the pack, as the files of the
base commit are public; nothing of the fix is there before it.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.git.command import Git
from tasks.adapters.git.histories import ATTRIBUTES, BRANCH, SETTINGS
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.layers import FIXED_MTIME, lifted

LAYOUT = "one-commit-1"
"""Part of the key of every shared tree: a tree that an older version left has no repository, or another one."""
AUTHOR, MESSAGE = "tree", "tree"
FOLDER = ".git"
BYTECODE = "__pycache__/\n*.py[cod]\n"
"""Git ignores what the runs themselves leave."""
_INDEX = f"{FOLDER}/index"
_SMALL = tuple(f"{FOLDER}/{name}" for name in ("HEAD", "config", "index", "shallow", "info/attributes", BRANCH))
"""Files of a repository that a second commit reads or changes."""
_STAT = (("core.checkStat", "minimal"), ("core.trustctime", "false"))
"""A sandbox shows files with other inodes, devices and owners: time and size tell git that a file is as it was."""


@dataclass(frozen=True, slots=True)
class Commits:
    """Trees whose repository has one commit. Safe to share by threads and processes, like `Trees`."""

    trees: Trees

    def checkout(self, repo: str, sha: str, into: Path) -> None:
        """Fill the folder `into` (made if need be, otherwise empty) with the files of a commit and a repository.

        Raises `NotFound` where the mirror or the commit is missing.
        """
        full = self.trees.mirrors.commit(repo, sha)
        self.trees.checkout(repo, full, into)
        name = f"{repo.replace('/', '__', 1)}-{full}.git-one.tar"
        self.trees.unpack(name, lambda archive: self._pack(archive, repo, full), into)
        os.utime(into, (FIXED_MTIME, FIXED_MTIME))

    def commit(self, tree: Path, paths: Iterable[str], *, below: Path | None = None) -> None:
        """Make the files of `tree`, of which those at `paths` were changed, its single commit.

        With `below`, `tree` is the upper layer of an overlay over it: what it lacks is there.
        """
        changed = tuple(dict.fromkeys(paths))
        if changed:
            with _within_reach(tree, below):
                self._commit(tree, changed, below)

    def _commit(self, tree: Path, changed: tuple[str, ...], below: Path | None) -> None:
        env = _author() | {"GIT_DIR": str(tree / FOLDER), "GIT_WORK_TREE": str(tree)}
        if below:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(below / FOLDER / "objects")
        git = self._git
        present = [path for path in changed if _is_file(tree / path)]
        # Removed first: a file of the same size and time would count as unchanged.
        for options, names in ((("--force-remove",), changed), (("--add", "--replace"), present)):
            if names:
                told = b"".join(os.fsencode(name) + b"\0" for name in names)
                git.run("update-index", *options, "-z", "--stdin", cwd=tree, stdin=told, env=env)
        root = git.run("write-tree", cwd=tree, env=env).decode().strip()
        made = git.run("commit-tree", "-m", MESSAGE, "--end-of-options", root, cwd=tree, env=env).decode().strip()
        _point_at(tree / FOLDER, made)
        _age(tree / FOLDER)

    @property
    def _git(self) -> Git:
        return Git(self.trees.mirrors.root)

    def _pack(self, archive: Path, repo: str, sha: str) -> None:
        with tempfile.TemporaryDirectory(prefix=".commit-", dir=archive.parent) as name:
            folder = Path(name)
            self.trees.checkout(repo, sha, folder)
            self._make(folder, self.trees.mirrors.path(repo), sha)
            with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
                tar.add(folder / FOLDER, FOLDER, filter=_nobodys)

    def _make(self, folder: Path, mirror: Path, sha: str) -> None:
        """A repository around the files of `folder`: the tree of commit `sha` under a commit of ours."""
        git = self._git
        git.run("init", "--quiet", "--template=", "--initial-branch=main", "--", str(folder))
        for setting, value in (*SETTINGS, *_STAT):
            git.run("config", "--end-of-options", setting, value, cwd=folder)
        info = folder / FOLDER / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(ATTRIBUTES)
        (info / "exclude").write_text(BYTECODE)
        env = _author() | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str((mirror / "objects").resolve())}
        made = git.run("commit-tree", "-m", MESSAGE, "--end-of-options", f"{sha}^{{tree}}", cwd=folder, env=env)
        commit = made.decode().strip()
        objects = folder / FOLDER / "objects"
        pack = ("pack-objects", "--quiet", "--revs", "--threads=1", "--end-of-options", str(objects / "pack" / "pack"))
        git.run(*pack, cwd=folder, stdin=commit.encode(), env=env)
        shutil.rmtree(objects / commit[:2])  # the commit is in the pack
        _point_at(folder / FOLDER, commit)
        git.run("read-tree", "HEAD", cwd=folder)
        git.run("update-index", "-q", "--refresh", cwd=folder)
        _age(folder / FOLDER)


def ignore_made(tree: Path, paths: Iterable[str]) -> None:
    """Have git ignore files that a build left in `tree`, which no commit holds."""
    lines = "".join(f"/{path}\n" for path in sorted(paths))
    if lines:
        (tree / FOLDER / "info" / "exclude").write_text(BYTECODE + lines, encoding="utf-8")
        _age(tree / FOLDER)


@contextmanager
def _within_reach(tree: Path, below: Path | None) -> Iterator[None]:
    if below is None:
        yield
        return
    with lifted(below, tree, _SMALL):
        for name in ("objects", "refs"):
            (tree / FOLDER / name).mkdir(exist_ok=True)
        yield


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _point_at(repository: Path, commit: str) -> None:
    (repository / BRANCH).parent.mkdir(parents=True, exist_ok=True)
    for name in (BRANCH, "shallow"):
        (repository / name).write_text(f"{commit}\n")


def _author() -> dict[str, str]:
    mail = f"{AUTHOR}@localhost"
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", AUTHOR), ("EMAIL", mail), ("DATE", f"{FIXED_MTIME} +0000"))
    }


def _age(repository: Path) -> None:
    """Everything is as old as the files of the tree, the index a second younger: git compares the content of every file
    that is not older than its index."""
    for at, folders, files in os.walk(repository):
        for name in (*files, *folders):
            os.utime(Path(at) / name, (FIXED_MTIME, FIXED_MTIME))
    os.utime(repository, (FIXED_MTIME, FIXED_MTIME))
    os.utime(repository / "index", (FIXED_MTIME + 1, FIXED_MTIME + 1))
    os.utime(repository.parent, (FIXED_MTIME, FIXED_MTIME))


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
