"""Extra information for methods in experiments: the files that a patch changes, and wrong fixes from a file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tasks.adapters.input_files.reader import read_rows
from tasks.adapters.patch.model import FilePatch, Patch
from tasks.adapters.patch.read import read_patch


def changed_files(patch: str) -> tuple[str, ...]:
    """Returns the files of the base commit that a patch changes; empty if the patch cannot be parsed."""
    return tuple(file.old_path for file in _files(patch) if file.old_path)


def most_changed(patch: str) -> str:
    """Returns the file that a patch changes most; empty if there is none."""
    sizes = {file.old_path: _size(file) for file in _files(patch) if file.old_path}
    return max(sizes, key=lambda path: sizes[path], default="")


def _files(patch: str) -> tuple[FilePatch, ...]:
    read = read_patch(patch)
    return read.files if isinstance(read, Patch) else ()


def _size(file: FilePatch) -> int:
    return sum(line[0] != " " for hunk in file.hunks for line in hunk.lines)


@cache
def fixes_in(path: Path) -> dict[str, str]:
    """Returns instance id → patch from a predictions file of a repair system. Leaves out rows without a patch."""
    rows = [row.values for row in read_rows(path) if not row.problem]
    return {str(row["instance_id"]): str(row["model_patch"]) for row in rows if row.get("model_patch")}
