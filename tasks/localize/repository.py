"""The repository at the base commit, as far as a localization may look into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.retrieval.budget import token_count
from tasks.adapters.retrieval.search import CommitIndex, ScoredFile, Searcher
from tasks.domain.localization import IssueReport, RetrieverKind
from tasks.domain.names import RepoPath

_README_SUFFIXES = ("", ".md", ".rst", ".txt")


class Codebase(Protocol):
    """What the agent's tools stand on."""

    @property
    def paths(self) -> Mapping[RepoPath, int]:
        """The files that can be ranked, with what each costs in a prompt."""
        ...

    @property
    def readme(self) -> str:
        """The README's path; empty where there is none."""
        ...

    def search(self, query: str, k: int) -> tuple[ScoredFile, ...]: ...

    def read(self, path: str) -> str:
        """The text of a file of `paths`, or of the README."""
        ...


@dataclass(frozen=True, slots=True)
class CommitRepository:
    """A commit in a mirror."""

    mirrors: Mirrors
    report: IssueReport
    index: CommitIndex
    readme: str
    paths: Mapping[RepoPath, int] = field(init=False)

    def __post_init__(self) -> None:
        sizes = dict(zip(self.index.paths, self.index.tokens, strict=True))
        object.__setattr__(self, "paths", sizes)

    def search(self, query: str, k: int) -> tuple[ScoredFile, ...]:
        return self.index.rank(query, k)

    def read(self, path: str) -> str:
        data = self.mirrors.read_file(self.report.repo, self.report.base_commit, path)
        return (data or b"").decode("utf-8", "replace")


def open_commit(
    searcher: Searcher, report: IssueReport, variant: RetrieverKind, *, with_tests: bool
) -> CommitRepository:
    """The commit of a report. `NotFound` where the mirror or the commit is missing."""
    index = searcher.index(report.repo, report.base_commit, variant, with_tests=with_tests)
    listing = searcher.mirrors.list_paths(report.repo, report.base_commit)
    return CommitRepository(searcher.mirrors, report, index, _readme(listing))


def plain_path(path: str) -> RepoPath:
    """A path as models like to write it → as the repository has it: `./a/b.py`, `/a/b.py` → `a/b.py`."""
    return RepoPath(path.strip().removeprefix("./").lstrip("/"))


def parts_of(text: str, limit: int) -> tuple[str, ...]:
    """A text in parts of whole lines, each of about `limit` tokens at most unless one line alone is more."""
    parts: list[str] = []
    lines: list[str] = []
    used = 0
    for line in text.splitlines(keepends=True):
        size = token_count(line)
        if lines and used + size > limit:
            parts.append("".join(lines))
            lines, used = [], 0
        lines.append(_cut_line(line, limit))
        used += size
    return (*parts, "".join(lines)) if lines or not parts else tuple(parts)


def _cut_line(line: str, limit: int) -> str:
    """A line that alone is more than a part is cut: generated files have such lines."""
    longest = limit * 4
    return line if len(line) <= longest else f"{line[:longest]} … [line cut]\n"


def _readme(paths: tuple[str, ...]) -> str:
    """The README at the root of the repository."""
    found = [path for path in paths if "/" not in path and PurePosixPath(path).stem.lower() == "readme"]
    plain = [path for path in found if PurePosixPath(path).suffix.lower() in _README_SUFFIXES]
    return min(plain, default="")
