"""Reserve disk space before a model call is paid for, so that its reply can be stored when the disk is full.

Without the reservation a full disk loses a paid reply, and the next run pays for the same call again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tasks.domain.errors import StoreError

ROOM = 512 * 1024
"""Bytes reserved for each pending call: a compressed exchange of some millions of characters."""
_HEAD = 8 + 32


class DiskReservation:
    """One file: first empty space, later possibly the exchange, after its length and SHA-256."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self) -> None:
        """Reserve the space. Raises `StoreError` if the disk is full, before anything is paid for."""
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
        """Write the exchange into the reserved space. Raises `OSError` if the write fails."""
        with self.path.open("r+b") as file:
            file.write(len(data).to_bytes(8, "big") + hashlib.sha256(data).digest() + data)
            file.flush()
            os.fsync(file.fileno())

    def content(self) -> bytes | None:
        """Return what `fill` wrote; None if it wrote nothing or was interrupted."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        length, digest = int.from_bytes(raw[:8], "big"), raw[8:_HEAD]
        data = raw[_HEAD : _HEAD + length]
        return data if length and hashlib.sha256(data).digest() == digest else None

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
