"""Which paths a patch may write at all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePosixPath

from tasks.adapters.patch.model import FilePatch, Patch, Reason, Refused
from tasks.adapters.patch.read import read_patch

MAX_CHARS = 2_000_000
MAX_FILES = 500
"""Limits of a submitted patch. The largest of 801 published predictions and repairs have 11,228 characters and four
files; applying a patch of 20,000 files takes minutes, in which other patches wait."""

NAME_BYTES = 255
PATH_BYTES = 2000
"""What file systems take, with room for the folders above a tree."""
LEVELS = 200
"""Folders of one path: `pathlib` makes folders by recursion, and Python ends at 1,000 calls."""
BINARY_BYTES = 50_000_000
"""Of one binary file: base85 of zlib holds a thousand times its length."""
SHOWN = 200


def read_inside(patch: str) -> Patch | Refused:
    """Reads a submitted patch, and refuses it if it is too large or if a path leaves the checkout."""
    if len(patch) > MAX_CHARS:
        return Refused(reason=Reason.TOO_LARGE, detail=f"{len(patch):,} characters; {MAX_CHARS:,} are taken")
    read = read_patch(patch)
    if isinstance(read, Refused):
        return read
    if len(read.files) > MAX_FILES:
        return Refused(reason=Reason.TOO_LARGE, detail=f"{len(read.files):,} files; {MAX_FILES:,} are taken")
    return refuse_paths(read) or read


def refuse_paths(patch: Patch) -> Refused | None:
    """Why no file of this patch may be written, whatever the policy; null if all may."""
    for file in patch.files:
        for path in file.paths:
            if problem := path_problem(path):
                return Refused(reason=Reason.CLIMBING_PATH, detail=f"{path[:SHOWN]!r} {problem}")
    left = {file.new_path for file in patch.files if file.new_path is not None}
    for path in sorted(left):
        above = next((str(folder) for folder in PurePosixPath(path).parents if str(folder) in left), None)
        if above is not None:
            return Refused(
                reason=Reason.ALREADY_EXISTS, detail=f"{path} lies below {above}, which is a file of the patch"
            )
    return None


def without_submodules(patch: Patch) -> Patch:
    """A stored patch without what it says of submodules: their folders are empty in every tree of ours, so whichever
    commit they name, nothing changes."""
    moved = [file.path for file in patch.files if file.submodule]
    if not moved:
        return patch
    notes = (f"the submodule {path} is left as it is, an empty folder" for path in moved)
    files = tuple(file for file in patch.files if not file.submodule)
    return replace(patch, files=files, notes=(*patch.notes, *notes))


def refuse_kinds(patch: Patch, *, stored: bool = False) -> Refused | None:
    """The first link or binary file; null if there is none. With `stored`, one whose contents are in the patch is
    taken, or its lines where git takes it for text."""
    for file in patch.files:
        reason = kind_problem(file)
        if reason is Reason.BINARY and stored and (file.contents or not file.binary):
            if file.contents and file.contents.size > BINARY_BYTES:
                return Refused(reason=Reason.TOO_LARGE, detail=f"{file.path} has more than {BINARY_BYTES:,} bytes")
        elif reason:
            return Refused(reason=reason, detail=f"{file.path} is a {reason.value}")
    return None


def kind_problem(file: FilePatch) -> Reason | None:
    """Whether a file is a link or binary."""
    if file.links:
        return Reason.LINK
    return Reason.BINARY if file.binary or any("\0" in line for hunk in file.hunks for line in hunk.lines) else None


def too_long(path: str) -> bool:
    """Whether a path, or one of its names, has more bytes or levels than a tree may have."""
    parts = path.split("/")
    return (
        len(os.fsencode(path)) > PATH_BYTES
        or len(parts) > LEVELS
        or any(len(os.fsencode(part)) > NAME_BYTES for part in parts)
    )


def is_git_folder(part: str) -> bool:
    """Whether a part of a path names git's own folder, on any file system."""
    return part.lower() in (".git", "git~1")


def path_problem(path: str) -> str:
    """What is wrong with a path relative to the root of a tree; empty if nothing is."""
    parts = path.split("/")
    if path.startswith("/"):
        return "is absolute"
    if ".." in parts:
        return "climbs out of the tree"
    if any(map(is_git_folder, parts)):
        return "lies in .git"
    if too_long(path):
        return "is too long"
    if any(part in ("", ".") for part in parts) or any(ord(char) < 0x20 for char in path):
        return "is not a plain path"
    return ""
