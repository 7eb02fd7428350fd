"""Selects the changes that are an agent's work, without its own files and files that the repository ignores."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tasks.adapters.git.command import Git, GitFailed
from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.render import Change

PLAIN = b"./"
"""Prefix of a path, so that git does not parse a leading colon as pathspec magic."""


def own_work(
    changes: Sequence[Change], leftovers: Iterable[str], paths: Iterable[str], read: ReadBase
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return the changes that count, and the paths of the others. `paths` and `read` describe the base commit."""
    new = [change.path for change in changes if change.before is None]
    patterns = tuple(leftovers)
    out = {path for path in new if _matches(path, patterns)}
    out |= ignored([path for path in new if path not in out], paths, read)
    return tuple(change for change in changes if change.path not in out), tuple(sorted(out))


def ignored(asked: Sequence[str], paths: Iterable[str], read: ReadBase) -> frozenset[str]:
    """Return the new files that `git add` would ignore by the ignore files of the base commit.

    Runs git in a separate empty repository: in the agent's repository, git would execute configuration that the agent
    wrote.
    """
    rules = {path: read(path) for path in paths if path.rpartition("/")[2] == ".gitignore"} if asked else {}
    if not rules:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="swt-ignored-") as name:
        folder = Path(name) / "tree"
        git = Git(Path(name))
        git.run("init", "--quiet", "--template=", "--", str(folder))
        for path, data in rules.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data or b"")
        stdin = b"".join(PLAIN + path.encode("utf-8", "surrogateescape") + b"\0" for path in asked)
        words = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin", "--no-index")
        done = git.attempt(*words, cwd=folder, stdin=stdin)
    if done.returncode > 1:
        raise GitFailed(f"git check-ignore failed: {done.stderr.decode('utf-8', 'replace').strip()}")
    found = (path.removeprefix(PLAIN) for path in done.stdout.split(b"\0") if path)
    return frozenset(path.decode("utf-8", "surrogateescape") for path in found)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern matches the path's file or one of its folders."""
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in patterns)
