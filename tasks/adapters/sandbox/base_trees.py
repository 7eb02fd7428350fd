"""Base trees: what the jobs of a commit are laid over, kept from one command to the next.

To unpack Django for the two runs of a candidate, and to remove it again, took 0.3 CPU s, as much as all else that is
ours. No job can write a base (`supervisor/overlay.py`), so the next command finds it as it was made.

Whoever uses one holds a shared `flock` on it, which the kernel gives back when its holder dies (filelock has none that
several may hold), and only what nobody holds makes room. Names carry the boot: a machine that lost its power may have
kept a file's name without its content.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tasks.adapters.sandbox.label import PREFIX
from tasks.adapters.sandbox.scratch import spare_folder, sweep_folders

MOST = 64
"""So many are kept, some 5 GB of Django; beyond that the least recently used go."""

TREE = "tree"


@dataclass(frozen=True, slots=True)
class Bases:
    """Base trees in one folder, shared by threads and processes.

    folder/
    ├── <name>-<boot>/tree/     its time is that of the last use
    └── swt-run-…/              one in the making, or on its way out
    """

    folder: Path
    most: int = MOST

    @contextmanager
    def held(self, name: str, fill: Callable[[Path], None]) -> Iterator[Path]:
        """The tree `name`, which stays while the block runs. `fill` makes it, in a folder that is not there yet, where
        it is missing; what it raises comes out, and nothing is kept."""
        place = self.folder / f"{name}-{_boot()}"
        while (held := _take(place)) is None:
            self._make(place, fill)
        try:
            yield place / TREE
        finally:
            os.close(held)

    def _make(self, place: Path, fill: Callable[[Path], None]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_room()
        with spare_folder(self.folder) as spare:
            made = spare / "made"
            made.mkdir()
            fill(made / TREE)
            try:
                made.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # those say that another was first
                    raise

    def kept(self) -> list[Path]:
        """The folders of all trees that are there, in no order."""
        return [path for path in self.folder.glob("*") if not path.name.startswith(PREFIX)]

    def _make_room(self) -> None:
        sweep_folders(self.folder)
        kept = sorted(self.kept(), key=_used)
        for path in kept[: max(0, len(kept) - self.most + 1)]:
            self._drop(path)

    def _drop(self, place: Path) -> None:
        """Remove a tree unless somebody holds it: who comes after the renaming finds none, and makes another."""
        with suppress(OSError), _opened(place) as found:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with spare_folder(self.folder) as spare:
                place.rename(spare / "dropped")


def _take(place: Path) -> int | None:
    """A descriptor with a share in `place`, which is then in use; null where there is none (any more)."""
    try:
        found = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(found), place.stat()):
            os.utime(found)
            return found
    except FileNotFoundError:
        pass
    os.close(found)
    return None


@contextmanager
def _opened(place: Path) -> Iterator[int]:
    found = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield found
    finally:
        os.close(found)


def _used(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip().partition("-")[0]
    except FileNotFoundError:
        return "any"
