"""Room on disk that is taken before a call is paid for, so that its reply can be kept even when the disk is full."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tasks.domain.errors import StoreError

ROOM = 512 * 1024
"""Bytes set aside for each call under way: a compressed exchange of some millions of characters."""
_HEAD = 8 + 32


class DiskReservation:
    """One file: first empty room, and if need be the exchange, with its length and SHA-256 before it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self) -> None:
        """Make the room. `StoreError` where the disk has none: nothing was paid for yet."""
        try:
            with self.path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, ROOM)
        except OSError as error:
            self.drop()
            hint = "free some room; no call was made"
            raise StoreError(
                f"there is no room to keep the reply to a model call: {error.strerror}", hint=hint
            ) from error

    def fill(self, data: bytes) -> None:
        """Write into the room that is there. `OSError` where even that cannot be done."""
        with self.path.open("r+b") as file:
            file.write(len(data).to_bytes(8, "big") + hashlib.sha256(data).digest() + data)
            file.flush()
            os.fsync(file.fileno())

    def content(self) -> bytes | None:
        """What `fill` wrote; null where it wrote nothing, or not all of it."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        length, digest = int.from_bytes(raw[:8], "big"), raw[8:_HEAD]
        data = raw[_HEAD : _HEAD + length]
        return data if length and hashlib.sha256(data).digest() == digest else None

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
