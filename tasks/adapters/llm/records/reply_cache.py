"""Caches paid replies by content key and tracks pending calls, so that a kill at any moment loses nothing.

    <store>/replies/<xx>/<call_key>.json.gz      request, reply, and the row of the call that paid
    <store>/calls-under-way/<call_key>.json      the row to write if the outcome is never known
    <store>/calls-under-way/<call_key>.room      reserved disk space for the reply (disk_reservation.py)

Pending calls are in the store that pays for them. In an earlier version they were in a cache that stores shared, and
the next store took over the `unknown` rows: five kills left six rows in four other stores.

The order is: mark the call, send, store the exchange, write the row, unmark. A mark without a lock belongs to a dead
process. If the exchange exists, its row is written again. If not, the row gets status `unknown`, because the provider
may have received the request and charged for it.

Machines that work together (`SWT_LEASES`) put their marks into the store, even an object store: the machine that takes
over the claim of a dead one writes the row. The reserved space stays on the disk of the calling machine.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.coordination.backends import open_coordinator
from tasks.adapters.coordination.interface import Claim, Coordinator
from tasks.adapters.coordination.postgres import session
from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.records.call_rows import row_facts, row_of
from tasks.adapters.llm.records.disk_reservation import DiskReservation
from tasks.adapters.llm.records.request import ModelRequest, reply_facts, reply_of, request_of
from tasks.adapters.store.files.disk import Disk, LocalDisk, place_in_leases
from tasks.adapters.store.maintenance.claims import lock_folder
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import LeaseError, StoreError
from tasks.domain.llm import LlmCall

UNDER_WAY = "calls-under-way"
BATCHES = "batches-under-way"
CALL_PATIENCE_S = 3600.0
"""A hanging process may already have been charged, so others wait up to an hour while its connection is open."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that was paid for."""

    request: ModelRequest
    reply: Reply
    row: LlmCall
    """Row of the call that paid."""


@dataclass(frozen=True, slots=True)
class CallClaim:
    """The exclusive right to make one call."""

    archive: ReplyCache
    key: str
    held: Claim

    def begin(self, row: LlmCall) -> None:
        """Mark the call as pending. `row` is written if this process dies before the call ends."""
        if not self.held.confirmed():
            hint = "run it again: nothing was paid for"
            raise LeaseError("somebody else makes this call by now: this process stood still", hint=hint)
        self.archive.room(self.key).take()
        self.archive.pending.write(self.key, json.dumps(row_facts(row)))

    def failed(self, row: LlmCall) -> None:
        """Write the row of a failed attempt and remove the mark. `row` has the id of the marked row."""
        self.archive.pending.write(self.key, json.dumps(row_facts(row)))
        self.archive.write_row(row)
        self.archive.unmark(self.key)

    def keep(self, exchange: RecordedCall) -> None:
        """Store the exchange and its row.

        If another process took over and stored a reply, that reply stays, since others may already use it. Both rows
        record their payments.
        """
        data = _packed(exchange)
        try:
            if self.held.confirmed() or self.archive.find(self.key) is None:
                self.archive.store.disk.write(_path(self.key), data)
            self.archive.write_row(exchange.row)
        except OSError as error:
            with suppress(OSError):
                self.archive.room(self.key).fill(data)
            hint = "free some room and run it again: what was kept of the reply is not paid for twice"
            raise StoreError(f"a paid reply could not be stored: {error}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class ReplyCache:
    """Replies of one store.

    `folder` belongs to this store alone and holds locks: pending calls are exclusive among the processes of the store.
    """

    store: Store
    folder: Path
    pending: PendingCalls
    scope: str
    """Name of the store in leases."""

    def find(self, key: str) -> RecordedCall | None:
        """Return the exchange with this content key; None if it is not stored."""
        try:
            data = self.store.disk.read(_path(key))
        except FileNotFoundError:
            return None
        return _unpacked(data, _path(key))

    @contextmanager
    def claim(self, key: str) -> Iterator[CallClaim]:
        """Wait until no other process makes this call, settle what a dead process left, and hold the claim.

        After an internal error without a row, the mark becomes a row: the provider may have done its work. An interrupt
        (not an `Exception`) leaves the mark to the next process.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._claims.claim(key, wait=True, patience_s=CALL_PATIENCE_S) as held:
            assert held
            self.settle(key)
            try:
                yield CallClaim(self, key, held)
            except StoreError:
                raise
            except Exception:
                with suppress(OSError):  # on a full disk, for example, the mark stays
                    self.settle(key)
                raise
            self.unmark(key)

    def settled(self, key: str) -> None:
        """Ensure that the row of a stored call exists: the paying process may have died before writing it."""
        if self.pending.read(key) is not None:
            with self.claim(key):
                """claim() settles the call."""

    def recover(self) -> int:
        """Settle every call that a dead process left; return their number."""
        found = 0
        rooms = {path.stem for path in self.folder.glob("*.room")}
        for key in sorted(rooms.union(self.pending.keys())):
            with self._claims.claim(key, wait=False, patience_s=CALL_PATIENCE_S) as held:
                found += held is not None and self.settle(key)
        return found

    def settle(self, key: str) -> bool:
        """Write the row of a marked call that is no longer pending; return whether it was marked."""
        exchange = self.find(key)
        if exchange is None and (kept := self.room(key).content()):
            self.store.disk.write(_path(key), kept)
            exchange = _unpacked(kept, _path(key))
        row = exchange.row if exchange else self._marked(key)
        marked = self.pending.read(key) is not None
        if row and marked:
            self.write_row(row)
        self.unmark(key)
        return marked

    def write_row(self, row: LlmCall) -> None:
        self.store.write([row], key=row.call_id)

    def room(self, key: str) -> DiskReservation:
        return DiskReservation(self.folder / f"{key}.room")

    def unmark(self, key: str) -> None:
        self.pending.drop(key)
        self.room(key).drop()
        for unfinished in self.folder.glob(f".{key}.json.*"):  # of a process that was killed while writing the mark
            unfinished.unlink(missing_ok=True)

    @property
    def batches(self) -> tuple[PendingCalls, Coordinator]:
        """Return the pending batches and the claims on them, at a place that the process taking over can read."""
        shared = not isinstance(self.pending.disk, LocalDisk)
        pending = PendingCalls(self.pending.disk, BATCHES if shared else f"{self.pending.folder}/batches")
        return pending, open_coordinator(self.folder / "batches", f"{self.scope}/{BATCHES}")

    @property
    def _claims(self) -> Coordinator:
        return open_coordinator(self.folder, f"{self.scope}/{UNDER_WAY}")

    def _marked(self, key: str) -> LlmCall | None:
        """Return the row in a mark; None if the mark is incomplete, which means that nothing was sent."""
        try:
            return row_of(json.loads(self.pending.read(key) or "null"))
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """The rows of pending calls as JSON, by call key. On this machine, or where other machines can take over."""

    disk: Disk
    folder: str = UNDER_WAY

    def write(self, key: str, text: str) -> None:
        """Write atomically."""
        self.disk.write(self._path(key), text.encode())

    def read(self, key: str) -> str | None:
        """Return None if the call is not pending."""
        try:
            return self.disk.read(self._path(key)).decode()
        except FileNotFoundError:
            return None

    def drop(self, key: str) -> None:
        self.disk.delete(self._path(key))

    def keys(self) -> Iterable[str]:
        names = (path.removeprefix(f"{self.folder}/") for path in self.disk.paths(self.folder))
        return [name.removesuffix(".json") for name in names if name.endswith(".json") and "/" not in name]

    def _path(self, key: str) -> str:
        return f"{self.folder}/{key}.json"


def open_archive(store: Store, cache: Path) -> ReplyCache:
    """Return the replies of a store. If this machine works alone, pending calls of an object store are in `cache`."""
    folder = lock_folder(store, cache, UNDER_WAY)
    if isinstance(store.disk, LocalDisk) or session():
        pending = PendingCalls(store.disk)
    else:
        pending = PendingCalls(LocalDisk(folder.parent), folder.name)
    return ReplyCache(store, folder, pending, place_in_leases(store.disk))


def _path(key: str) -> str:
    return f"replies/{key[:2]}/{key}.json.gz"


def _packed(exchange: RecordedCall) -> bytes:
    parts = {
        "request": exchange.request.facts(),
        "reply": reply_facts(exchange.reply),
        "row": row_facts(exchange.row),
    }
    text = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return gzip.compress(text, 6, mtime=0)


def _unpacked(data: bytes, where: str) -> RecordedCall:
    try:
        parts = json.loads(gzip.decompress(data).decode("utf-8", "surrogatepass"))
        reply = reply_of(parts["reply"], cached=True)
        return RecordedCall(request_of(parts["request"]), reply, row_of(parts["row"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{where} is not a model's reply: {error}", hint="move it away; the call is then made again"
        ) from error
