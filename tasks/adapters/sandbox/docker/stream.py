"""The output of a container's process: frames with a header of eight bytes (Docker's API, "Attach to a container")."""

from __future__ import annotations

from collections.abc import Iterator

HEADER = 8


class Frames:
    """Takes the stream in pieces of any size and gives back what the process wrote."""

    def __init__(self) -> None:
        self._header = b""
        self._due = 0
        """Bytes of the frame under way that have not come yet."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The payload in `data`, piece by piece."""
        while data:
            if not self._due:
                missing = HEADER - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) < HEADER:
                    return
                self._due = int.from_bytes(self._header[4:], "big")
                self._header = b""
                continue
            piece, data = data[: self._due], data[self._due :]
            self._due -= len(piece)
            yield piece
