"""Output to a file with a ceiling. Nothing is kept in memory, and the writer is never held up or ended by it."""

from __future__ import annotations

import os

CHUNK = 1 << 20


class CappedLog:
    """Copies a pipe to a file up to `limit` bytes; the rest is read and dropped, and the last line says so."""

    def __init__(self, path: str, limit: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._room = limit
        self.limit = limit
        self.dropped = 0

    def take(self, pipe: int) -> bool:
        """Copy what the pipe holds now, one chunk at most; false at its end or where it is empty."""
        try:
            data = os.read(pipe, CHUNK)
        except BlockingIOError:
            return False
        self.keep(data)
        return bool(data)

    def keep(self, data: bytes) -> None:
        """Write as much of it as there is room for."""
        kept = data[: self._room]
        self._write(kept)
        self._room -= len(kept)
        self.dropped += len(data) - len(kept)

    def close(self) -> None:
        if self.dropped:
            self._write(f"\n[log cut at {self.limit} bytes: {self.dropped} bytes dropped]\n".encode())
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]
