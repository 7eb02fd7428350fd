"""Files that a caller names: readers take regular files only, and a deployment names files inside one folder."""

from __future__ import annotations

import stat
from pathlib import Path

from tasks.domain.errors import BadInput, NotFound
from tasks.domain.names import path_component

KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def regular_file(path: Path, *, hint: str = "") -> Path:
    """Returns `path` if it is a regular file or a link to one.

    Raises `NotFound` if nothing is there, `BadInput` for anything else: reading a named pipe waits forever, and reading
    a device never ends.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}", hint=hint) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}", hint=hint) from error
    if not stat.S_ISREG(mode):
        kind = next((kind for fits, kind in KINDS if fits(mode)), "something else")
        raise BadInput(f"{path} is {kind} and not a file", hint=hint or "save its content as a file, and name that")
    return path


def writable_file(path: Path) -> Path:
    """Returns `path` if a file can be written there; asked before the work whose result the file holds.

    Raises `BadInput` if its folder is missing, or if a folder, a named pipe or a device is in its place.
    """
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}", hint="make it first")
    return regular_file(path, hint="choose another name") if path.exists() else path


def file_in(folder: Path, name: str) -> Path:
    """Returns the file `name` of a folder. Raises `BadInput` if `name` is a path, or a link that leads out of it."""
    hint = f"copy the file to {folder} and give its name; SWT_INBOX names that folder"
    path = folder / path_component(name)
    if path.resolve().parent != folder.resolve():
        raise BadInput(f"{name} leads out of {folder}", hint=hint)
    return regular_file(path, hint=hint)


def output_in(folder: Path, name: str) -> Path:
    """Returns the place of an output below a folder, which is made if it is missing. Raises `BadInput` if `name` is a
    path or a link, or if something other than a file or a folder is there."""
    path = folder / path_component(name)
    folder.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
        raise BadInput(f"{path} is no file or folder that can be written", hint="choose another name")
    return path
