"""What many commits changed, in few git processes: one for the commit graph, one for a batch of differences.

Nothing here writes to a mirror. `replay` works in a scratch repository that borrows the mirror's objects.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NewType

from tasks.adapters.git.command import Git
from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.names import RepoName, RepoPath, Sha

Tree = NewType("Tree", str)
"""40 hexadecimal digits of a git tree."""

PATCH_OPTIONS = ("--binary", "--full-index", "--no-renames")
_PAIR = re.compile(rb"(?:(?<=\0)|(?<=\n)|\A)([0-9a-f]{40}) ([0-9a-f]{40})\n")
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as the graph knows it."""

    tree: Tree
    parents: tuple[Sha, ...]
    committed_at: datetime
    """UTC."""


@dataclass(frozen=True, slots=True)
class Count:
    """Added and removed lines of one file; both 0 for a binary one, as GitHub counts."""

    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Range:
    """A commit and the one it is compared with."""

    base: Sha
    fixed: Sha


Counts = Mapping[RepoPath, Count]
"""New path → its counts, with renames followed: the form of GitHub's file lists."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences between commits of one mirror."""

    mirrors: Mirrors
    repo: RepoName

    def graph(self) -> dict[Sha, Commit]:
        """Every commit that a ref of the mirror reaches."""
        log = self._run("log", "--all", "--no-show-signature", "--format=%H %T %ct %P")
        return dict(_commit(line) for line in log.decode("ascii").splitlines())

    def merge_base(self, one: Sha, other: Sha) -> Sha | None:
        """The best common ancestor; null where there is none."""
        done = self._git.attempt("--git-dir", self._folder, "merge-base", "--end-of-options", one, other)
        return Sha(done.stdout.decode().strip()) if done.returncode == 0 else None

    def counts(self, pairs: Iterable[tuple[Tree, Tree]]) -> dict[tuple[Tree, Tree], Counts]:
        """Old and new tree → what changed between them, all through one process."""
        wanted = sorted(set(pairs))
        if not wanted:
            return {}
        lines = "".join(f"{old} {new}\n" for old, new in wanted)
        told = self._run("diff-tree", "--stdin", "-r", "-z", "-M", "--numstat", stdin=lines.encode())
        pieces = _PAIR.split(told)[1:]
        olds, news, texts = pieces[0::3], pieces[1::3], pieces[2::3]
        found = zip(olds, news, texts, strict=True)
        return {(Tree(old.decode()), Tree(new.decode())): _counts(text) for old, new, text in found}

    def patch_ids(self, ranges: Iterable[Range], *, reverse: bool = False) -> dict[Range, str]:
        """git's stable patch id of each range; a range that changes nothing has none."""
        by_fixed = {one.fixed: one for one in ranges}
        found: dict[Range, str] = {}
        for some in _chunks(sorted(by_fixed)):
            options = ("--no-prefix", *(["-R"] if reverse else []))  # -R would swap `a/` and `b/`
            diff = self._diff([by_fixed[fixed] for fixed in some], *options)
            for line in self._run("patch-id", "--stable", stdin=diff).decode("ascii").splitlines():
                patch_id, fixed = line.split(" ")
                found[by_fixed[Sha(fixed)]] = patch_id
        return found

    def patch(self, change: Range) -> bytes:
        """`git diff --binary --full-index --no-renames` of a range."""
        return self._run("diff-tree", "-r", "-p", *PATCH_OPTIONS, "--end-of-options", change.base, change.fixed)

    def replay(self, cases: Sequence[tuple[Range, Sequence[bytes]]]) -> tuple[bool, ...]:
        """For each range: whether `git apply` of the patches, together, makes the tree of its fixed commit.

        The index and all new objects lie in a scratch repository; nothing is checked out.
        """
        with tempfile.TemporaryDirectory(prefix="swt-replay-") as scratch:
            bare = Path(scratch) / "bare"
            self._git.run("init", "--quiet", "--bare", "--template=", "--", str(bare))
            (bare / "objects" / "info").mkdir(exist_ok=True)
            (bare / "objects" / "info" / "alternates").write_text(f"{Path(self._folder).resolve()}/objects\n")
            return tuple(self._replay(bare, change, patches) for change, patches in cases)

    def _replay(self, bare: Path, change: Range, patches: Sequence[bytes]) -> bool:
        written = [patch for patch in patches if patch]  # git refuses a file without a patch
        files = [bare.parent / f"{number}.patch" for number in range(len(written))]
        for file, patch in zip(files, written, strict=True):
            file.write_bytes(patch)
        at = ("--git-dir", str(bare))
        self._git.run(*at, "read-tree", "--end-of-options", change.base)
        apply = (*at, "apply", "--cached", "--whitespace=nowarn", "--", *map(str, files))
        if files and self._git.attempt(*apply).returncode != 0:
            return False
        made = self._git.run(*at, "write-tree").strip()
        return made == self._run("rev-parse", "--verify", "--end-of-options", f"{change.fixed}^{{tree}}").strip()

    def _diff(self, ranges: Sequence[Range], *options: str) -> bytes:
        """Differences one after the other, each under a line with its fixed commit."""
        lines = "".join(f"{one.fixed} {one.base}\n" for one in ranges)
        return self._run("diff-tree", "--stdin", "-r", "-p", *PATCH_OPTIONS, *options, stdin=lines.encode())

    def _run(self, *args: str, stdin: bytes = b"") -> bytes:
        return self._git.run("--git-dir", self._folder, *args, stdin=stdin)

    @property
    def _git(self) -> Git:
        return Git(self.mirrors.root)

    @property
    def _folder(self) -> str:
        return str(self.mirrors.path(self.repo))


def _commit(line: str) -> tuple[Sha, Commit]:
    name, tree, seconds, *parents = line.split(" ")
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return Sha(name), Commit(Tree(tree), tuple(Sha(parent) for parent in parents if parent), moment)


def _counts(text: bytes) -> Counts:
    """`added TAB removed TAB path NUL`; a rename has an empty path and then both, each with its NUL."""
    found: dict[RepoPath, Count] = {}
    fields = iter(text.split(b"\0")[:-1])
    for field in fields:
        added, removed, path = field.split(b"\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        name = RepoPath(path.decode("utf-8", "surrogateescape"))
        found[name] = Count(_number(added), _number(removed))
    return found


def _number(text: bytes) -> int:
    return 0 if text == b"-" else int(text)


def _chunks(commits: Sequence[Sha]) -> Iterator[Sequence[Sha]]:
    for start in range(0, len(commits), _AT_ONCE):
        yield commits[start : start + _AT_ONCE]
