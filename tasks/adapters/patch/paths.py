"""Which paths a patch may write at all."""

from __future__ import annotations

from tasks.adapters.patch.model import FilePatch, Patch, Reason, Refused


def refuse_paths(patch: Patch) -> Refused | None:
    """Why no file of this patch may be written, whatever the policy; null if all may."""
    for file in patch.files:
        for path in file.paths:
            if problem := path_problem(path):
                return Refused(reason=Reason.CLIMBING_PATH, detail=f"{path!r} {problem}")
    return None


def refuse_kinds(patch: Patch) -> Refused | None:
    """The first link or binary file; null if there is none."""
    for file in patch.files:
        if reason := kind_problem(file):
            return Refused(reason=reason, detail=f"{file.path} is a {reason.value}")
    return None


def kind_problem(file: FilePatch) -> Reason | None:
    """Whether a file is a link or binary."""
    if file.links:
        return Reason.LINK
    return Reason.BINARY if file.binary or any("\0" in line for hunk in file.hunks for line in hunk.lines) else None


def path_problem(path: str) -> str:
    """What is wrong with a path relative to the root of a tree; empty if nothing is."""
    parts = path.split("/")
    if path.startswith("/"):
        return "is absolute"
    if ".." in parts:
        return "climbs out of the tree"
    if any(part.lower() in (".git", "git~1") for part in parts):
        return "lies in .git"
    if any(part in ("", ".") for part in parts) or any(ord(char) < 0x20 for char in path):
        return "is not a plain path"
    return ""
