"""Trees for methods: the files of one commit with a git repository that ends at it.

The repository is made by fetching one commit into a fresh one: the objects of that commit (and of its ancestors, down
to `depth`) are copied, and there is no remote, tag, reflog or alternate, because none was ever made. What it cost on
the mirrors of django and sympy: depth 1 takes 1.5 to 2 CPU seconds and 8 to 12 MB, the whole history 15 s and 140 to
190 MB; both are kept as archives, so that is paid once per commit.
"""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.git.command import Git
from tasks.adapters.git.trees import Trees
from tasks.domain.names import repo_folder

BRANCH = "refs/heads/main"
ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Outranks the repository's own attributes: files are bytes, and a fresh tree has no changes."""

SETTINGS = (
    ("core.logAllRefUpdates", "false"),
    ("core.fileMode", "true"),
    ("gc.auto", "0"),
    ("user.name", "method"),
    ("user.email", "method@localhost"),
)


@dataclass(frozen=True, slots=True)
class Histories:
    """Trees with a repository of their own, `main` checked out at the base commit. Safe to share like `Trees`."""

    trees: Trees
    depth: int | None = 1
    """Commits of history; null for all of it."""

    def checkout(self, repo: str, sha: str, into: Path) -> None:
        """Fills the folder `into` with the files of a commit and a repository that ends at it.

        `NotFound` where the mirror or the commit is missing.
        """
        full = self.trees.mirrors.commit(repo, sha)
        self.trees.checkout(repo, full, into)
        name = f"{repo_folder(repo)}-{full}.git-{self.depth or 'all'}.tar"
        self.trees.unpack(name, lambda archive: self._pack(archive, repo, full), into)
        self._git.run("update-index", "-q", "--refresh", cwd=into)

    @property
    def _git(self) -> Git:
        return Git(self.trees.mirrors.root)

    def _pack(self, archive: Path, repo: str, sha: str) -> None:
        with tempfile.TemporaryDirectory(prefix=".history-", dir=archive.parent) as name:
            folder = Path(name)
            self._make(folder, self.trees.mirrors.path(repo), sha)
            with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
                tar.add(folder / ".git", ".git")

    def _make(self, folder: Path, mirror: Path, sha: str) -> None:
        """A repository in `folder` whose only branch is at `sha`, with an index and no files."""
        git = self._git
        git.run("init", "--quiet", "--template=", "--initial-branch=main", "--", str(folder))
        for setting, value in SETTINGS:
            git.run("config", "--end-of-options", setting, value, cwd=folder)
        depth = (f"--depth={self.depth}",) if self.depth else ()
        plain = (
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--update-head-ok",
            *depth,
            "--",
        )
        git.run("-c", "protocol.version=2", *plain, f"file://{mirror.resolve()}", f"{sha}:{BRANCH}", cwd=folder)
        info = folder / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(ATTRIBUTES)
        git.run("read-tree", "HEAD", cwd=folder)
