"""What experiments hand out beyond issue and retrieval (the paper's Table 5)."""

from __future__ import annotations

from enum import StrEnum

from tasks.adapters.patch.model import FilePatch, Patch
from tasks.adapters.patch.read import read_patch


class Give(StrEnum):
    """One thing that a method is told. In the order in which methods' labels name them."""

    TEST_FILE = "test-file"
    """The file of the base commit that the golden tests change most; instances without one are left out."""
    GOLDEN_PATCH = "golden-patch"
    INCORRECT_PATCH = "incorrect-patch"
    """A fix that is known to be wrong; instances without one are left out."""
    MODIFIED_FILES = "modified-files"
    """The files that the patch changes, instead of retrieved ones."""


def changed_files(patch: str) -> tuple[str, ...]:
    """The files of the base commit that a patch changes; none for a patch that cannot be read."""
    return tuple(file.old_path for file in _files(patch) if file.old_path)


def most_changed(patch: str) -> str:
    """The one of them that it changes most; empty where there is none."""
    sizes = {file.old_path: _size(file) for file in _files(patch) if file.old_path}
    return max(sizes, key=lambda path: sizes[path], default="")


def _files(patch: str) -> tuple[FilePatch, ...]:
    read = read_patch(patch)
    return read.files if isinstance(read, Patch) else ()


def _size(file: FilePatch) -> int:
    return sum(line[0] != " " for hunk in file.hunks for line in hunk.lines)
