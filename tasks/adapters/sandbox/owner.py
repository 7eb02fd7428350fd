"""Who a job is: never the host's root, and the owner of all that it may write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from tasks.adapters.folders import walk

UIDS = range(1_000_000, 2_000_000)
"""Where a run started by root takes its user from; below 2^21, as old archive formats want."""


def give_to_stranger(folders: Iterable[Path]) -> int:
    """A user that exists nowhere else, made the owner of the folders and of everything in them. Needs root."""
    uid = UIDS[secrets.randbelow(len(UIDS))]
    for folder in folders:
        _give(folder, uid)
    return uid


def _give(folder: Path, uid: int) -> None:
    """Change the owner of everything below.

    Files with several names (hard links) keep theirs: another name may belong to a mirror that the job must not write.
    """

    def visit(at: int) -> list[str]:
        folders = []
        os.fchown(at, uid, uid)
        with os.scandir(at) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.stat(follow_symlinks=False).st_nlink == 1:
                    os.chown(entry.name, uid, uid, dir_fd=at, follow_symlinks=False)
        return folders

    walk(folder, visit)
