"""Private folders of runs, labelled with their owner, and the removal of leftovers of dead owners."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.folders import open_unreadable, remove, walk
from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.label import MARKER, PREFIX, Label
from tasks.adapters.sandbox.supervisor import tree
from tasks.adapters.sandbox.supervisor.overlay import Layers

FORGOTTEN_S = 86_400.0
"""Age at which a folder of another container counts as abandoned: no run takes this long."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folders of one run.

    <root>/
        home/    HOME inside
        tmp/     TMPDIR inside
        etc/     files that replace the host's
        base/ work/ tree/    for the overlay of a job with a base (supervisor/overlay.py)
    """

    label: Label
    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def etc(self) -> Path:
        return self.root / "etc"

    @property
    def tree(self) -> Path:
        """The checkout over its base, visible only in the job's own mounts."""
        return self.root / "tree"

    def checkout(self, job: Job) -> Path:
        """Return the folder with the complete checkout: the caller's, or the overlay."""
        return self.tree if job.base else job.checkout

    @contextmanager
    def overlay(self, job: Job, owner: int | None) -> Iterator[Layers | None]:
        """Yield the overlay of a job with a base, owned by `owner`, or by the caller in a namespace of its own."""
        if job.base is None:
            yield None
            return
        below, work = self.root / "base", self.root / "work"
        for folder in (below, work, self.tree):
            folder.mkdir()
        lower, upper, at = str(job.base), str(job.checkout), str(self.tree)
        try:
            yield Layers(lower, upper, str(work), at, str(below), owner)
        finally:
            with suppress(FileNotFoundError):
                (work / "work").chmod(0o700)  # the kernel creates it without permissions, so it could not be removed


@contextmanager
def scratch(base: Path) -> Iterator[Scratch]:
    """Create private folders below `base`; remove them at the end."""
    label = Label.new()
    with _labelled(base, label) as root:
        made = Scratch(label, root)
        for folder in (made.home, made.tmp, made.etc):
            folder.mkdir()
        yield made


@contextmanager
def spare_folder(base: Path) -> Iterator[Path]:
    """Create a private folder below `base`, creating `base` if needed; remove it at the end.

    This includes files that a job left in it. If this process is killed, the next sweep removes it.
    """
    base.mkdir(parents=True, exist_ok=True)
    with _labelled(base, Label.new()) as folder:
        yield folder


@contextmanager
def _labelled(base: Path, label: Label) -> Iterator[Path]:
    folder = base / str(label)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        remove(folder)


def keep_plain_files(outbox: Path) -> None:
    """Remove links, pipes, sockets and devices, so that only plain files and folders leave a sandbox.

    A report that is a link to a host file would be read with the flow's rights, and a pipe would block the reader.
    """
    with suppress(OSError):
        walk(outbox, _keep_plain_files_of, open_folder=open_unreadable)


def _keep_plain_files_of(folder: int) -> list[str]:
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=folder)
    return folders


def sweep(base: Path) -> int:
    """Remove folders below `base` and processes whose owners are dead; return their number."""
    processes = _orphaned_processes()
    tree.kill(processes)
    return len(processes) + sweep_folders(base)


def sweep_folders(base: Path) -> int:
    """Remove folders below `base` whose owners are dead, and day-old folders of other
    containers; return their number."""
    folders = [path for path in base.glob(f"{PREFIX}*") if _is_left(path)]
    for folder in folders:
        remove(folder)
    return len(folders)


def _is_left(path: Path) -> bool:
    label = Label.parse(path.name)
    if label is None or not label.foreign:
        return label is not None and label.orphaned
    with suppress(FileNotFoundError):
        return path.stat().st_mtime < time.time() - FORGOTTEN_S
    return False


def _orphaned(name: str) -> bool:
    label = Label.parse(name)
    return label is not None and label.orphaned


def _orphaned_processes() -> list[int]:
    return [process.pid for process in tree.everyone() if _orphaned(marker_of(process.pid))]


def marker_of(pid: int) -> str:
    """Return the label in a process's initial environment; empty if there is none or it cannot be read."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{MARKER}=".encode()
    return next((word.removeprefix(prefix).decode(errors="replace") for word in words if word.startswith(prefix)), "")
