"""What the history of one commit knows of other commits and of pull requests."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.git.command import Git
from tasks.adapters.git.mirrors import Mirrors


@dataclass(frozen=True, slots=True)
class CommitHistory:
    """The commits that `base` descends from, itself included."""

    mirrors: Mirrors
    repo: str
    base: str

    def holds(self, sha: str) -> bool | None:
        """True for a commit of this history, false for another one of the mirror, null for none of the mirror's."""
        if not self.mirrors.has_commit(self.repo, sha):
            return None
        return self._git("merge-base", "--is-ancestor", "--end-of-options", sha, self.base)

    def landed(self, number: int) -> bool:
        """Whether the message of a commit names the pull request, as merges and squashes on GitHub do."""
        pattern = rf"pull request #{number}[^0-9]|\(#{number}\)|(PR|pull request) #?{number}([^0-9]|$)"
        log = ("log", "--max-count=1", "--format=%H", "--extended-regexp", f"--grep={pattern}")
        git, mirror = Git(self.mirrors.root), self.mirrors.path(self.repo)
        return bool(git.run("--git-dir", str(mirror), *log, "--end-of-options", self.base).strip())

    def _git(self, *args: str) -> bool:
        git, mirror = Git(self.mirrors.root), self.mirrors.path(self.repo)
        return git.attempt("--git-dir", str(mirror), *args).returncode == 0
