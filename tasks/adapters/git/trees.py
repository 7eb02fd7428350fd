"""Throw-away trees: the files of one commit, and nothing else of the repository.

A tree has no `.git`, so there is no history, no remote and no later object in it to find (commits.py and histories.py
make trees that have one). Its files are the blobs of the commit byte for byte: no attribute, filter or line-ending
setting has a say. Everything has one time, `FIXED_MTIME`.

The first checkout of a commit packs it into an archive in the cache; every checkout unpacks that.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.coordination.locks import temporary_lock
from tasks.adapters.git.mirrors import Mirrors, TreeEntry
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.domain.errors import InfrastructureError
from tasks.domain.names import repo_folder

DEFAULT_BUDGET = 8 * 1024**3
HALF = ".packing-"
STALE_S = 24 * 3600
"""An archive that is so old and not finished was left by a process that was killed."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees of any commit in `mirrors`. Safe to share by threads and processes.

    cache/
    ├── <owner>__<name>-<sha>.tar                one per commit, the least recently used go first
    ├── <owner>__<name>-<sha>.git-<depth>.tar    its history, see histories.py
    ├── <owner>__<name>-<sha>.git-one.tar        its files as one commit, see commits.py
    ├── .packing-…                               an archive in the making, gone a day after its maker was killed
    └── .<archive>.lock                          held by whoever makes it
    """

    mirrors: Mirrors
    cache: Path
    budget: int = DEFAULT_BUDGET
    """Bytes that the archives may take together."""

    def checkout(self, repo: str, sha: str, into: Path) -> None:
        """Fills the folder `into` (made if need be, otherwise empty) with the files of a commit.

        `NotFound` where the mirror or the commit is missing.
        """
        self.unpack(_archive_name(repo, sha), lambda archive: self._pack_blobs(archive, repo, sha), into)
        os.utime(into, (FIXED_MTIME, FIXED_MTIME))

    def unpack(self, name: str, write: Callable[[Path], None], into: Path) -> None:
        """Fills `into` from the archive `name`, which `write` makes where the cache does not have it (any more)."""
        into.mkdir(parents=True, exist_ok=True)
        try:
            self._unpack(name, into)
        except FileNotFoundError:
            self._pack(name, write)
            self._unpack(name, into)

    def _unpack(self, name: str, into: Path) -> None:
        """`FileNotFoundError` where the archive is not in the cache (any more)."""
        with (self.cache / name).open("rb") as archive:
            os.utime(archive.fileno())
            untar(archive.fileno(), into)

    def _pack(self, name: str, write: Callable[[Path], None]) -> None:
        """By one of those who need it: methods begin on an instance together, and a history takes CPU seconds."""
        with temporary_lock(self.cache / f".{name}.lock", wait=True):
            if (self.cache / name).exists():
                return
            scratch = Path(tempfile.mkdtemp(prefix=HALF, dir=self.cache))
            try:
                archive = scratch / name
                write(archive)
                self._make_room(archive.stat().st_size)
                archive.replace(self.cache / name)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def _pack_blobs(self, archive: Path, repo: str, sha: str) -> None:
        entries = self.mirrors.entries(repo, sha)
        blobs = self.mirrors.blobs(repo, (entry.sha for entry in entries if entry.mode != "160000"))
        made: set[str] = set()
        with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
            for entry in entries:
                _add_folders(tar, entry.path, made)
                _add(tar, entry, blobs)

    def _make_room(self, size: int) -> None:
        """Removes what was left half made, and the archives not used for longest until `size` more bytes fit."""
        for half in self.cache.glob(f"{HALF}*"):
            with suppress(FileNotFoundError):
                if half.stat().st_mtime < time.time() - STALE_S:
                    shutil.rmtree(half)
        archives = sorted(_sizes(self.cache), key=lambda found: found[0])
        used = sum(found[1] for found in archives)
        for _, bytes_, path in archives:
            if used + size <= self.budget:
                return
            path.unlink(missing_ok=True)
            used -= bytes_


def _archive_name(repo: str, sha: str) -> str:
    return f"{repo_folder(repo)}-{sha}.tar"


def untar(archive: int, into: Path) -> None:
    """Unpack an open file with the system's tar, which is three times as fast as Python's."""
    argv = ["tar", "-x", "-p", "-f", "-", "-C", str(into)]
    try:
        done = subprocess.run(argv, stdin=archive, capture_output=True, check=False)
    except FileNotFoundError as error:
        if error.filename == "tar":
            raise InfrastructureError(
                "tar is not on PATH", hint="install tar; `swt doctor` lists what is needed"
            ) from error
        raise
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[:500]
        raise InfrastructureError(f"a tree could not be unpacked into {into}: {said}", hint="is the disk full?")


def _sizes(cache: Path) -> Iterator[tuple[int, int, Path]]:
    """Time of last use (nanoseconds), bytes and path of every archive."""
    for path in cache.glob("*.tar"):
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        yield stat.st_mtime_ns, stat.st_size, path


def _add_folders(tar: tarfile.TarFile, path: str, made: set[str]) -> None:
    """The folders above a file, where they are new: right before their content, so that tar can set their times."""
    for at in (at for at, char in enumerate(path) if char == "/"):
        if path[:at] not in made:
            made.add(path[:at])
            tar.addfile(_member(path[:at], 0o755, tarfile.DIRTYPE))


def _add(tar: tarfile.TarFile, entry: TreeEntry, blobs: Iterator[bytes]) -> None:
    """One file, or link, or the empty folder of a submodule."""
    if entry.mode == "160000":
        tar.addfile(_member(entry.path, 0o755, tarfile.DIRTYPE))
        return
    data = next(blobs)
    if entry.mode == "120000":
        member = _member(entry.path, 0o777, tarfile.SYMTYPE)
        member.linkname = data.decode("utf-8", "surrogateescape")
        tar.addfile(member)
        return
    member = _member(entry.path, 0o755 if entry.mode == "100755" else 0o644, tarfile.REGTYPE)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _member(name: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.mtime = mode, kind, FIXED_MTIME
    return member
