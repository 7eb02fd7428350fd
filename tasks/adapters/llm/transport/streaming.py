"""Reads a response while it arrives, whole or as server-sent events, with limits on bytes and silence.

No library parses the events: the SDK's own reader is private, httpx-sse needs another HTTP client than the SDK's, and
neither reports a stream with nothing but keepalive events.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tasks.adapters.llm.dialects.spoken import NotAReply
from tasks.adapters.llm.dialects.streamed import Event, is_sign_of_life

LARGEST = 64 << 20
"""Maximum size of a response in bytes: more than ten times the longest reply of any model."""
LARGEST_STREAM = 512 << 20
"""Maximum size of a stream: each token may take some 350 bytes."""
LONGEST_S = 4 * 3600.0
"""Maximum duration of an active stream. 128,000 tokens at ten per second take 3.6 hours."""
DONE = "[DONE]"


class TooLarge(ValueError):
    """The response is larger than any reply."""


class Speechless(ValueError):
    """No content arrived for too long, though the connection is open."""


@dataclass(slots=True)
class Patience:
    """Limit on the silence of a stream, and on its total duration."""

    seconds: float
    _began: float = field(default_factory=time.monotonic)
    _heard: float = field(default_factory=time.monotonic)

    def heard(self) -> None:
        """Record that content arrived."""
        self._heard = time.monotonic()

    def check(self) -> None:
        """Raise `Speechless` if the last content is too old."""
        now = time.monotonic()
        if now - self._heard > self.seconds or now - self._began > LONGEST_S:
            raise Speechless


def whole(chunks: Iterable[bytes], patience: Patience) -> str:
    """Return a whole response, within one silence limit: an endless trickle must end."""
    parts = list(_bounded(chunks, patience, LARGEST))
    return b"".join(parts).decode("utf-8", "replace")


def events(chunks: Iterable[bytes], patience: Patience) -> Iterator[Event]:
    """Yield the events of a stream without keepalive events. Raises `NotAReply` for an event
    that is not a JSON object."""
    data: list[str] = []
    for line in io.TextIOWrapper(
        io.BufferedReader(_Chunks(_bounded(chunks, patience, LARGEST_STREAM))), "utf-8", "replace"
    ):
        name, _, value = line.rstrip("\n").partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line.strip("\n") and data:
            event = _read("\n".join(data))
            data = []
            if not is_sign_of_life(event):
                patience.heard()
                yield event
    if data and (last := _whole_or_cut("\n".join(data))):
        yield last[0]


def _bounded(chunks: Iterable[bytes], patience: Patience, largest: int) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > largest:
            raise TooLarge
        patience.check()
        yield chunk


def _whole_or_cut(data: str) -> tuple[Event] | None:
    """Parse a last event without its final empty line, which some servers omit; None if it is incomplete."""
    try:
        return (_read(data),)
    except NotAReply:
        return None


def _read(data: str) -> Event:
    if data.strip() == DONE:
        return None
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise NotAReply(f"an event of its stream is not JSON: {data[:80]!r}") from None
    if not isinstance(event, dict):
        raise NotAReply("an event of its stream is not an object")
    return event


class _Chunks(io.RawIOBase):
    """Chunks as a file. Lines end as in event streams: with a line feed, a carriage return, or both."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            try:
                self._rest = memoryview(next(self._chunks))
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
