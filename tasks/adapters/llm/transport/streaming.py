"""A provider's answer while it arrives: bounded in bytes and in silence, whole or as server-sent events.

The events are read here and not by a library: the SDK's own reader is private, httpx-sse is for another client than the
one the SDK has, and neither says when there was nothing but signs of life.
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
"""Bytes of an answer: more than ten times the longest reply that a model makes."""
LARGEST_STREAM = 512 << 20
"""Each token of a stream may come in some 350 bytes of its own."""
LONGEST_S = 4 * 3600.0
"""Of a stream that never falls silent. 128,000 tokens at ten in a second take 3.6 hours."""
DONE = "[DONE]"


class TooLarge(ValueError):
    """The answer has more bytes than any reply."""


class Speechless(ValueError):
    """Nothing was said for too long, though the connection stands."""


@dataclass(slots=True)
class Patience:
    """How long there may be silence."""

    seconds: float
    _began: float = field(default_factory=time.monotonic)
    _heard: float = field(default_factory=time.monotonic)

    def heard(self) -> None:
        """Something was said."""
        self._heard = time.monotonic()

    def check(self) -> None:
        """`Speechless` where the last word is too long ago."""
        now = time.monotonic()
        if now - self._heard > self.seconds or now - self._began > LONGEST_S:
            raise Speechless


def whole(chunks: Iterable[bytes], patience: Patience) -> str:
    """All of an answer, within one patience: what trickles in for ever is no reply."""
    parts = list(_bounded(chunks, patience, LARGEST))
    return b"".join(parts).decode("utf-8", "replace")


def events(chunks: Iterable[bytes], patience: Patience) -> Iterator[Event]:
    """The events of a stream, but for signs of life. `NotAReply` where one is no JSON object."""
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
    """What stood at the end without the empty line that ends an event: some servers leave out the last one."""
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
    """Chunks as a file, whose lines end as those of event streams do: in a line feed, a carriage return, or both."""

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
