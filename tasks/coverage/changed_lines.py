"""The lines that a golden patch removes and adds (metrics.md: Xr and Xa)."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.adapters.patch.model import FilePatch, Hunk, Patch
from tasks.adapters.patch.read import read_patch
from tasks.domain.instance import ChangedLine
from tasks.domain.names import InstanceKey, LineNo, RepoPath
from tasks.domain.outcome import CodeState


def changed_lines(instance_key: InstanceKey, patch: str) -> tuple[ChangedLine, ...]:
    """Removed lines (numbered as before) and added ones (as after) of every Python file, in order of the patch.

    A renamed file has its removed lines under the old path and its added ones under the new. Nothing where the text
    is no patch.
    """
    read = read_patch(patch)
    files = read.files if isinstance(read, Patch) else ()
    found = (line for file in files for line in _file_lines(instance_key, file))
    return tuple(dict.fromkeys(found))


def _file_lines(instance_key: InstanceKey, file: FilePatch) -> Iterator[ChangedLine]:
    for hunk in file.hunks:
        for side, line in _hunk_lines(hunk):
            path = file.old_path if side is CodeState.BEFORE else file.new_path
            if path is not None and path.endswith(".py"):
                yield ChangedLine(instance_key=instance_key, path=RepoPath(path), side=side, line=LineNo(line))


def _hunk_lines(hunk: Hunk) -> Iterator[tuple[CodeState, int]]:
    """The side and number of each changed line."""
    old, new = _first(hunk.old_start, hunk.old), _first(hunk.new_start, hunk.new)
    for line in hunk.lines:
        if line[0] == "-":
            yield CodeState.BEFORE, old
        elif line[0] == "+":
            yield CodeState.AFTER, new
        old += line[0] != "+"
        new += line[0] != "-"


def _first(start: int, lines: list[str]) -> int:
    """The number of a range's first line; an empty range is written with the line before it."""
    return start if lines else start + 1
