"""The demo project's git history, which the repository holds as text (`data/demo/history.fast-export`)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tasks.adapters.git.command import Git
from tasks.domain.errors import NotFound

HISTORY = "history.fast-export"
BRANCH = "refs/heads/main"


def build_mirror(folder: Path, into: Path) -> Path:
    """Builds the history in `folder` as the bare repository `into`, and returns `into`.

    The commit ids are the same with every git, since authors, dates and files all stand in the text. An
    existing `into` is left as it is. Raises `NotFound` without a history, `GitFailed` where git refuses it.
    """
    history = folder / HISTORY
    if not history.is_file():
        raise NotFound(f"there is no {HISTORY} in {folder}", hint="give the folder data/demo of a complete checkout")
    if into.is_dir():
        return into
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=into.parent) as scratch:
        bare = Path(scratch) / "bare"
        _import(Git(Path(scratch)), history, bare)
        _settle(bare, into)
    return into


def _import(git: Git, history: Path, bare: Path) -> None:
    """A new bare repository with the commits of `history` and nothing else."""
    git.run("init", "--quiet", "--bare", "--object-format=sha1", "--template=", "--", str(bare))
    git.run("--git-dir", str(bare), "fast-import", "--quiet", "--done", stdin=history.read_bytes())
    git.run("--git-dir", str(bare), "symbolic-ref", "HEAD", BRANCH)


def _settle(bare: Path, into: Path) -> None:
    """Moves a finished repository to its place, unless another process was first."""
    try:
        bare.rename(into)
    except OSError:
        if not into.is_dir():
            raise
