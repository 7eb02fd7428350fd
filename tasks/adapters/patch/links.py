"""Symbolic links that a pull request adds, changes or removes. Links of candidates are refused (paths.py).

A link is applied where everything on its way lies inside the checkout: `tests/x.py -> ../src/x.py`, never `-> /etc` and
never through another link that leads outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tasks.adapters.patch.model import LINK_MODE, FilePatch, Patch, Reason, Refused, Status
from tasks.adapters.patch.paths import is_git_folder

MAX_HOPS = 40
"""As many links as Linux follows on one path (man 7 path_resolution). A chain that is longer leads nowhere."""

ReadLink = Callable[[str], str | None]
"""The target of the link at a path of the checkout; None where there is no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChange:
    """One symbolic link before and after a patch."""

    path: str
    before: str | None
    """Target; None where the patch adds the link."""
    after: str | None
    """Target; None where the patch removes the link."""


def split_links(patch: Patch) -> tuple[Patch, tuple[LinkChange, ...]] | Refused:
    """The patch without its symbolic links, and these. Refused where a link has no plain target."""
    changes: list[LinkChange] = []
    for file in patch.files:
        if _is_link(file):
            change = _link_change(file)
            if isinstance(change, Refused):
                return change
            changes += change
    if not changes:
        return patch, ()
    return replace(patch, files=tuple(file for file in patch.files if not _is_link(file))), tuple(changes)


def _is_link(file: FilePatch) -> bool:
    return {file.old_mode, file.new_mode} - {None} == {LINK_MODE}


def _link_change(file: FilePatch) -> list[LinkChange] | Refused:
    before = None if file.status is Status.ADDED else "".join(line for hunk in file.hunks for line in hunk.old)
    after = None if file.status is Status.DELETED else "".join(line for hunk in file.hunks for line in hunk.new)
    for target in (before, after):
        if target is not None and (not target or any(ord(char) < 0x20 for char in target)):
            return Refused(reason=Reason.LINK, detail=f"{file.path} is a link without a plain target")
    if file.status is Status.RENAMED:
        return [
            LinkChange(path=file.old_path or "", before=before, after=None),
            LinkChange(path=file.path, before=None, after=after),
        ]
    if file.status is Status.COPIED:
        before = None
    return [LinkChange(path=file.path, before=before, after=after)]


def refuse_targets(links: Iterable[LinkChange], read_link: ReadLink) -> Refused | None:
    """The first new link that leads out of the checkout; None if there is none. `read_link` reads those that stay."""
    new = {link.path: link.after for link in links}
    read: ReadLink = lambda path: new[path] if path in new else read_link(path)  # noqa: E731
    for path, target in new.items():
        if target is not None and leaves_checkout(path, read):
            return Refused(
                reason=Reason.LINK, detail=f"{path} is a link to {target!r}, which leads out of the checkout"
            )
    return None


def leaves_checkout(path: str, read_link: ReadLink) -> bool:
    """Whether following `path` leads out of the checkout, or into its `.git`, at any step."""
    left, at = path.split("/")[::-1], list[str]()
    hops = 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return True
            at.pop()
            continue
        at.append(part)
        target = read_link("/".join(at))
        if target is None:
            if is_git_folder(part):
                return True
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > MAX_HOPS:
            return False
        at.pop()
        left += target.split("/")[::-1]
    return False
