"""Reads and writes files under one root, local or in an object store; each write is atomic.

Local files are written to a temporary name, synced and renamed. Object stores publish an object when its upload
completes, so the upload replaces the rename. Paths are relative to the root and use `/`.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pyarrow as pa
import tenacity
from pyarrow import fs as arrow_fs

from tasks.adapters.coordination.locks import scope_of
from tasks.adapters.coordination.postgres import hold_lease, session, shared_time_ns
from tasks.adapters.store.files.address import secrets_of, shown, without
from tasks.domain.errors import BadInput, StoreAway, StoreError

LOCK = ".lock"
"""Lock between writers (shared) and deletion (exclusive)."""
TEMPORARY = ".tmp"
"""Suffix of unfinished files. Globs for `*.parquet` match dotfiles, so only the suffix excludes them."""

S3_TRIES = 12
"""Attempts per request. The waits double up to a minute, so a restarting server gets one to two minutes. With the
default of two seconds, replies that were already paid for were lost."""
AWAY = "AWS Error"
"""Part of pyarrow's message for an S3 server that refuses or fails."""
CUT_OFF = "Failed to flush response stream"
"""Part of pyarrow's message for a response longer than the requested range, such as the error page of a failing server.
pyarrow 26 does not retry then."""
AT_ONCE = 1 << 20
"""Largest file size in bytes that is read by one request, whatever range is needed."""


again_where_cut_off = tenacity.retry(
    retry=tenacity.retry_if_exception(lambda error: CUT_OFF in str(error)),
    stop=tenacity.stop_after_attempt(S3_TRIES),
    wait=tenacity.wait_exponential(multiplier=0.05, max=20),
    reraise=True,
)


class Entry(NamedTuple):
    """One file. A command creates and compares tens of thousands: a dataclass took three times as long."""

    path: str
    """Relative to the root."""
    size: int
    modified: float
    """Modification time, seconds since the epoch."""
    changed: float = 0.0
    """Inode change time, seconds since the epoch: any change of file or name, not settable. 0 if not available."""
    inode: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def age_s(self) -> float:
        return shared_time_ns() / 1e9 - self.modified


class Disk(Protocol):
    """The file operations that the store needs."""

    @property
    def url(self) -> str:
        """The root as DuckDB names it: an absolute path or a URL."""
        ...

    def write(self, path: str, data: bytes) -> None: ...

    def read(self, path: str) -> bytes:
        """Return the content. Raises `FileNotFoundError` if the file does not exist."""
        ...

    def size(self, path: str) -> int | None:
        """Return the size in bytes; None if the file does not exist."""
        ...

    def files(self, folder: str) -> list[Entry]:
        """Return every file at any depth, sorted by path; empty for a missing folder."""
        ...

    def paths(self, folder: str) -> tuple[str, ...]:
        """Return only the paths of `files`. A quarter of the time if each file needs a stat call."""
        ...

    def rename(self, path: str, to: str) -> None: ...

    def delete(self, path: str) -> None:
        """Delete a file; no error if it does not exist."""
        ...

    def source(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """Open a file for random reads."""
        ...

    def create(self, path: str) -> Any:
        """Yield a writable file, which is published if the context ends without an error."""
        ...

    def lock(self, *, exclusive: bool, name: str = LOCK) -> Any:
        """Hold a lock, shared by any number of holders or exclusive. Advisory, between processes."""
        ...


@dataclass(frozen=True, slots=True)
class LocalDisk:
    """A folder of this machine, or of a shared file system with working renames."""

    root: Path

    @property
    def url(self) -> str:
        return str(self.root)

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as sink:
            sink.write(data)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def size(self, path: str) -> int | None:
        try:
            return (self.root / path).stat().st_size
        except FileNotFoundError:
            return None

    def files(self, folder: str) -> list[Entry]:
        return sorted(_walk(self.root / folder, folder), key=attrgetter("path"))

    def paths(self, folder: str) -> tuple[str, ...]:
        found = os.walk(self.root / folder)
        cut = len(str(self.root)) + 1
        return tuple(sorted(f"{place[cut:]}/{name}" for place, _, names in found for name in names))

    def rename(self, path: str, to: str) -> None:
        (self.root / path).replace(self.root / to)

    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def source(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        file: AbstractContextManager[pa.NativeFile] = pa.OSFile(str(self.root / path))
        return file

    @contextmanager
    def create(self, path: str) -> Iterator[IO[bytes]]:
        self._make_root()
        final = self.root / path
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            with temporary.open("xb") as sink:
                yield sink
                sink.flush()
                os.fsync(sink.fileno())
            with self.lock(exclusive=False):
                temporary.replace(final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(final.parent)

    @contextmanager
    def lock(self, *, exclusive: bool, name: str = LOCK) -> Iterator[None]:
        self._make_root()
        with (self.root / name).open("ab") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            with _lease(self, name, exclusive=exclusive):  # flock on a shared folder may only work per machine
                yield

    def _make_root(self) -> None:
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "name a folder that can be written: SWT_STORE"
            raise StoreError(f"the store {self.root} cannot be made: {error.strerror}", hint=hint) from error


@dataclass(frozen=True, slots=True, eq=False)
class ObjectDisk:
    """An object store, or any other file system of pyarrow. Its locks are leases; without leases it has no locks."""

    system: arrow_fs.FileSystem
    base: str
    """Bucket and prefix."""
    url: str

    def write(self, path: str, data: bytes) -> None:
        with self._answers(path):
            if self.system.type_name != "s3":
                self.system.create_dir(self._at(path).rpartition("/")[0], recursive=True)
            with self.system.open_output_stream(self._at(path), compression=None) as sink:
                sink.write(data)

    def read(self, path: str) -> bytes:
        with self.source(path) as source:
            return bytes(source.read())

    def size(self, path: str) -> int | None:
        with self._answers(path):
            info = self.system.get_file_info(self._at(path))
        return info.size if info.type == arrow_fs.FileType.File else None

    def files(self, folder: str) -> list[Entry]:
        selector = arrow_fs.FileSelector(self._at(folder), recursive=True, allow_not_found=True)
        with self._answers(folder):
            found = [info for info in self.system.get_file_info(selector) if info.type == arrow_fs.FileType.File]
        return sorted(Entry(info.path.removeprefix(self.base + "/"), info.size, _seconds(info.mtime)) for info in found)

    def paths(self, folder: str) -> tuple[str, ...]:
        return tuple(entry.path for entry in self.files(folder))

    def rename(self, path: str, to: str) -> None:
        with self._answers(path):
            self.system.move(self._at(path), self._at(to))

    def delete(self, path: str) -> None:
        if self.size(path) is not None:
            with self._answers(path):
                self.system.delete_file(self._at(path))

    @contextmanager
    def source(self, path: str) -> Iterator[pa.NativeFile]:
        with self.open(path) as source:
            try:
                yield source
            except OSError as error:  # raised by reading, or by the caller's parsing
                if AWAY not in str(error):
                    raise
                raise away(f"{self.url}/{path}", error) from error

    @again_where_cut_off
    def open(self, path: str) -> pa.NativeFile:
        """Open a file. Small files are read completely: reading a footer alone takes three requests."""
        with self._answers(path):
            file = self.system.open_input_file(self._at(path))
            if file.size() > AT_ONCE:
                return file
            with file:
                return pa.BufferReader(file.read())

    @contextmanager
    def create(self, path: str) -> Iterator[IO[bytes]]:
        sink = BytesIO()
        yield sink
        self.write(path, sink.getvalue())

    def lock(self, *, exclusive: bool, name: str = LOCK) -> AbstractContextManager[None]:
        return _lease(self, name, exclusive=exclusive)

    def _at(self, path: str) -> str:
        return f"{self.base}/{path}"

    @contextmanager
    def _answers(self, path: str) -> Iterator[None]:
        """Raise `StoreAway` if the object store fails or refuses; a missing file stays a `FileNotFoundError`."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise away(f"{self.url}/{path}", error) from error


def away(what: str, error: Exception) -> StoreAway:
    """Return the error for an object store that fails or refuses."""
    (said,) = [line for line in str(error).splitlines() if AWAY in line][-1:] or [str(error).partition("\n")[0]]
    hint = "look whether the server of SWT_STORE answers and its keys are allowed to do that; the same command goes on"
    return StoreAway(f"{what} is not to be had: {said}", hint=hint)


_OPENED: dict[str, ObjectDisk] = {}
"""Opened object stores by URL."""


def open_disk(root: str) -> Disk:
    """Open a path, a `file://` URL, or any URL that pyarrow supports (`s3://bucket/prefix`, `gs://…`)."""
    if "://" not in root:
        return LocalDisk(Path(root).absolute())
    if known := opened(root):
        return known  # the bare URL has no endpoint, region and keys
    try:
        system, base = arrow_fs.FileSystem.from_uri(root)
    except (ValueError, OSError) as error:
        said = without(secrets_of(root), str(error))
        hint = "give a folder, or a URL such as s3://…"
        raise BadInput(f"{shown(root)} is not a store: {said}", hint=hint) from None
    if isinstance(system, arrow_fs.LocalFileSystem):
        return LocalDisk(Path(base))
    return _remembered(ObjectDisk(_patient(system), base.rstrip("/"), shown(root).partition("?")[0].rstrip("/")))


def _patient(system: arrow_fs.FileSystem) -> arrow_fs.FileSystem:
    """Return the same file system with `S3_TRIES` attempts and single-request uploads of small files, not three
    requests.

    A URL cannot express these options. `AwsStandardS3RetryStrategy` does not work: pyarrow 26 never refills its retry
    quota, so after a hundred failed requests in a process it stopped retrying.
    """
    if not isinstance(system, arrow_fs.S3FileSystem):
        return system
    _, (options,) = system.__reduce__()
    tries = arrow_fs.AwsDefaultS3RetryStrategy(max_attempts=S3_TRIES)
    return arrow_fs.S3FileSystem(**options | {"allow_delayed_open": True}, retry_strategy=tries)


def opened(url: str) -> ObjectDisk | None:
    """Return the object store that this process opened under a URL without keys and options; None if there is none."""
    return _OPENED.get(url)


def _remembered(disk: ObjectDisk) -> ObjectDisk:
    """Register a store under its bare URL. Caches and views use this URL, so it must name only one store."""
    known = _OPENED.setdefault(disk.url, disk)
    if not known.system.equals(disk.system):
        hint = "use one process for each: their endpoint, region or keys differ"
        raise BadInput(f"{disk.url} is open already as another store", hint=hint)
    return known


def place_in_leases(disk: Disk) -> str:
    """Return the scope of leases for a store that machines share; empty if this machine works alone."""
    return scope_of(disk.root) if isinstance(disk, LocalDisk) else disk.url if session() else ""


def _lease(disk: Disk, name: str, *, exclusive: bool) -> AbstractContextManager[None]:
    """Hold the lease next to an exclusive lock. `LOCK` needs none: cooperating machines never replace a file
    (store.py)."""
    return hold_lease(f"{place_in_leases(disk)}/{name}") if exclusive and name != LOCK else nullcontext()


def _walk(folder: Path, prefix: str) -> Iterator[Entry]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise StoreError(f"{prefix} in the store is a file, not a folder", hint="move it away") from error
    for entry in entries:
        path = f"{prefix}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, path)
        else:
            yield from _entry(entry, path)


def _entry(found: os.DirEntry[str], path: str) -> Iterator[Entry]:
    try:
        stat = found.stat()
    except FileNotFoundError:
        return  # deleted since the folder was listed
    yield Entry(path, stat.st_size, stat.st_mtime, stat.st_ctime, stat.st_ino)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
