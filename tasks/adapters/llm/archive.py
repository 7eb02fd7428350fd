"""Replies that were paid for, by content key, and the calls under way, so that a kill at any moment is survived.

    <store>/replies/<xx>/<call_key>.json.gz      what was sent, what came back, and the row of who paid
    <store>/calls-under-way/<call_key>.json      the row to write if nobody ever hears of this call again
    <store>/calls-under-way/<call_key>.room      disk space for its reply (reserve.py)

Calls under way lie in the store that pays for them. They once lay in a cache that stores share, and whichever store
came next took the `unknown` rows: five kills left six rows in four other stores.

In this order: mark the call, send, keep the exchange, write the row, unmark. Whatever is marked and not locked was left
by a process that died: if the exchange is there, its row is written (again); if not, the row says `unknown`, because
nobody can tell whether the provider got the request and charged for it.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.call_rows import row_facts, row_of
from tasks.adapters.llm.request import ModelRequest, reply_facts, reply_of, request_of
from tasks.adapters.llm.reserve import Reserve
from tasks.adapters.locking import briefly_alone
from tasks.adapters.store.disk import LocalDisk
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import StoreError
from tasks.domain.llm import LlmCall
from tasks.domain.names import content_key

UNDER_WAY = "calls-under-way"
LEFT = (".json", ".room")
"""What a dead process may leave of a call."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call that was paid for."""

    request: ModelRequest
    reply: Reply
    row: LlmCall
    """Of the work that paid."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to make one call: nobody else on this machine makes it meanwhile."""

    archive: Archive
    key: str

    def begin(self, row: LlmCall) -> None:
        """Mark the call as under way. `row` is what is written if this process dies before it ends."""
        self.archive.room(self.key).take()
        _write_synced(self.archive.marker(self.key), json.dumps(row_facts(row)))

    def failed(self, row: LlmCall) -> None:
        """Write the row of an attempt that failed, and take the mark away. `row` has the id of the marked one."""
        _write_synced(self.archive.marker(self.key), json.dumps(row_facts(row)))
        self.archive.write_row(row)
        self.archive.unmark(self.key)

    def keep(self, exchange: Exchange) -> None:
        """Put the exchange and its row where they stay, whatever happens next."""
        data = _packed(exchange)
        try:
            self.archive.store.disk.write(_path(self.key), data)
            self.archive.write_row(exchange.row)
        except OSError as error:
            with suppress(OSError):
                self.archive.room(self.key).fill(data)
            hint = "free some room and run it again: what was kept of the reply is not paid for twice"
            raise StoreError(f"a paid reply could not be stored: {error}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class Archive:
    """Replies of one store. `folder` is this store's alone and takes locks: calls under way are exclusive among the
    processes that use the store."""

    store: Store
    folder: Path

    def find(self, key: str) -> Exchange | None:
        """The exchange with this content key; null where it was never kept."""
        try:
            data = self.store.disk.read(_path(key))
        except FileNotFoundError:
            return None
        return _unpacked(data, _path(key))

    @contextmanager
    def claim(self, key: str) -> Iterator[Claim]:
        """Wait until nobody else makes this call, settle what a dead process left, and hold it.

        After an error of ours that is no row yet, the mark becomes one: the provider may have done its work. What is
        not an `Exception` (an interrupt) leaves the mark to the next process.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with briefly_alone(self._lock(key), wait=True):
            self.settle(key)
            try:
                yield Claim(self, key)
            except StoreError:
                raise
            except Exception:
                with suppress(OSError):  # a full disk, say: then the mark stays
                    self.settle(key)
                raise
            self.unmark(key)

    def settled(self, key: str) -> None:
        """Make sure that the row of a kept call is there: whoever paid may have died before writing it."""
        if self.marker(key).exists():
            with self.claim(key):
                """Claiming it settled it."""

    def recover(self) -> int:
        """Settle every call that a dead process left; how many there were."""
        found = 0
        for key in sorted({path.stem for path in self.folder.glob("*.*") if path.suffix in LEFT}):
            with briefly_alone(self._lock(key), wait=False) as held:
                found += held and self.settle(key)
        return found

    def settle(self, key: str) -> bool:
        """Write the row of a marked call that is not under way any more; whether there was one."""
        exchange = self.find(key)
        if exchange is None and (kept := self.room(key).content()):
            self.store.disk.write(_path(key), kept)
            exchange = _unpacked(kept, _path(key))
        row = exchange.row if exchange else self._marked(key)
        marked = self.marker(key).exists()
        if row and marked:
            self.write_row(row)
        self.unmark(key)
        return marked

    def write_row(self, row: LlmCall) -> None:
        self.store.write([row], key=row.call_id)

    def marker(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def room(self, key: str) -> Reserve:
        return Reserve(self.folder / f"{key}.room")

    def unmark(self, key: str) -> None:
        for path in (self.marker(key), self.marker(key).with_suffix(".tmp")):
            path.unlink(missing_ok=True)
        self.room(key).drop()

    def _lock(self, key: str) -> Path:
        return self.folder / f"{key}.lock"

    def _marked(self, key: str) -> LlmCall | None:
        """The row in a mark; null where the mark was never finished, that is, before anything was sent."""
        try:
            return row_of(json.loads(self.marker(key).read_text()))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None


def open_archive(store: Store, cache: Path) -> Archive:
    """The replies of a store. An object store has no locks: its calls under way lie below `cache`, in a folder that is
    named after the store."""
    if isinstance(store.disk, LocalDisk):
        return Archive(store, store.disk.root / UNDER_WAY)
    return Archive(store, cache / UNDER_WAY / content_key("store", store.url))


def _path(key: str) -> str:
    return f"replies/{key[:2]}/{key}.json.gz"


def _packed(exchange: Exchange) -> bytes:
    parts = {
        "request": exchange.request.facts(),
        "reply": reply_facts(exchange.reply),
        "row": row_facts(exchange.row),
    }
    text = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return gzip.compress(text, 6, mtime=0)


def _unpacked(data: bytes, where: str) -> Exchange:
    try:
        parts = json.loads(gzip.decompress(data).decode("utf-8", "surrogatepass"))
        reply = reply_of(parts["reply"], cached=True)
        return Exchange(request_of(parts["request"]), reply, row_of(parts["row"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{where} is not a model's reply: {error}", hint="move it away; the call is then made again"
        ) from error


def _write_synced(path: Path, text: str) -> None:
    """Whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
