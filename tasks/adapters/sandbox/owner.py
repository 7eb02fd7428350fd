"""The user of a job: never the host's root, and the owner of everything that it may write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from tasks.adapters.folders import walk

UIDS = range(1_000_000, 2_000_000)
"""Range of user ids for runs that root starts; below 2^21, as old archive formats require."""


def give_to_stranger(folders: Iterable[Path]) -> int:
    """Choose an unused user id and make it the owner of the folders and their content; return the id. Needs root."""
    uid = UIDS[secrets.randbelow(len(UIDS))]
    for folder in folders:
        _give(folder, uid)
    return uid


def _give(folder: Path, uid: int) -> None:
    """Change the owner of a folder and everything below.

    Files with several hard links keep their owner: another link may belong to a mirror that the job must not write.
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
