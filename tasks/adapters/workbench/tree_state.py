"""What a command left in a checkout: every file, git's own and compiled ones as well, so that it can be put back.

`changes.py` finds the texts of a candidate. That is not enough to go on from: a later `git stash pop` needs the stash.
Nothing is followed out of a checkout that untrusted commands could write.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.adapters.folders import remove
from tasks.adapters.patch.paths import too_long
from tasks.adapters.workbench.changes import readable
from tasks.domain.errors import BadInput

MAX_BYTES = 8 << 20
"""Of all files that one command wrote; one that wrote more is run again."""

TreeState = Mapping[str, tuple[int, ...]]
"""Path → mode, and of all but folders size, times and inode."""
TreeDelta = dict[str, Any]
"""As JSON takes it: `gone` paths, `folders`, `files`, `links`."""


def state_of(checkout: Path) -> TreeState:
    """Everything below a folder, links not followed. The change time is nobody's to set."""
    found: dict[str, tuple[int, ...]] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(readable(checkout / folder)) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    found[path] = (facts.st_mode,)
                    if not too_long(path):
                        waiting.append(path)
                else:
                    found[path] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    return found


def delta_of(checkout: Path, before: TreeState, after: TreeState) -> TreeDelta | None:
    """What came, changed and went between two looks; null where that is too much to keep, or cannot be kept."""
    new = sorted(path for path, facts in after.items() if before.get(path) != facts)
    kinds = {path: stat.S_IFMT(facts[0]) for path, facts in before.items()}
    gone = [path for path, kind in kinds.items() if path not in after or stat.S_IFMT(after[path][0]) != kind]
    files = [path for path in new if stat.S_ISREG(after[path][0])]
    links = [path for path in new if stat.S_ISLNK(after[path][0])]
    folders = [path for path in new if stat.S_ISDIR(after[path][0])]
    others = len(new) - len(files) - len(links) - len(folders)  # sockets and the like
    if others or any(map(too_long, folders)) or sum(after[path][1] for path in files) > MAX_BYTES:
        return None
    try:
        return {
            "gone": sorted(gone, reverse=True),
            "folders": [[path, stat.S_IMODE(after[path][0])] for path in folders],
            "files": [_file(checkout, path, after[path]) for path in files],
            "links": [[path, str((checkout / path).readlink())] for path in links],
        }
    except OSError:  # nobody may read it, or it went meanwhile
        return None


def _file(checkout: Path, path: str, facts: tuple[int, ...]) -> list[Any]:
    data = (checkout / path).read_bytes()
    return [path, stat.S_IMODE(facts[0]) & 0o777, facts[2], b64encode(data).decode("ascii")]


def restore(checkout: Path, deltas: Iterable[TreeDelta]) -> None:
    """Put back what was left, one command after the other."""
    modes: dict[str, int] = {}
    for delta in deltas:
        for path in delta["gone"]:
            _remove(_inside(checkout, path))
            modes.pop(path, None)
        for path, mode in delta["folders"]:
            _inside(checkout, path).mkdir(exist_ok=True)
            modes[path] = mode
        for path, mode, mtime, data in delta["files"]:
            target = _inside(checkout, path)
            target.unlink(missing_ok=True)
            target.write_bytes(b64decode(data))
            target.chmod(mode)
            os.utime(target, ns=(mtime, mtime))
        for path, aim in delta["links"]:
            target = _inside(checkout, path)
            target.unlink(missing_ok=True)
            target.symlink_to(aim)
    for path in sorted(modes, reverse=True):  # last: a folder that takes no files could not be filled
        _inside(checkout, path).chmod(modes[path])


def _inside(checkout: Path, path: str) -> Path:
    target = checkout / path
    if not target.parent.resolve().is_relative_to(checkout.resolve()):
        raise BadInput(f"{path} goes through a link", hint="remove the journal; the commands are then run again")
    return target


def _remove(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        remove(target)
    else:
        target.unlink(missing_ok=True)
