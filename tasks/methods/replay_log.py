"""What work under way has seen of the outside: what commands printed and changed, runs of tests, a debugger's answers.

With it work that was killed is told the same again, so its questions to the model are the same again too, and these are
replayed and not paid twice. No two runs print the same: times, addresses, temporary names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from tasks.adapters.coordination.locks import temporary_lock
from tasks.domain.names import content_key
from tasks.domain.places import Places


class ReplayLog:
    """A file of JSON lines, appended to as things are seen; to be used in a `with`. Thread-safe.

    It belongs to who opened it first: whoever does the same work at the same time remembers nothing. Two that append to
    one file would be told each other's past.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._known: dict[str, tuple[str, Any]] = {}
        self._file: int | None = None
        self._held = ExitStack()

    def __enter__(self) -> ReplayLog:
        if self._held.enter_context(temporary_lock(self.path.with_suffix(".lock"), wait=False)):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._known = dict(_entries(self.path))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            if not self._known:
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None
        self._held.close()

    def find(self, name: str, asked: str) -> Any:
        """What was seen under this name when the same was asked; null where nothing was."""
        with self._lock:
            known, seen = self._known.get(name, ("", None))
        return seen if known == asked else None

    def keep(self, name: str, asked: str, seen: Any) -> None:
        """Write down what was seen, as JSON. A disk that takes no more ends the journal, not the work."""
        line = json.dumps([name, asked, seen], ensure_ascii=True).encode() + b"\n"
        with self._lock:
            if self._file is None:
                return
            self._known[name] = (asked, seen)
            try:
                with os.fdopen(os.dup(self._file), "ab") as file:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                os.close(self._file)
                self._file = None

    def once(self, name: str, asked: str, see: Callable[[], Any]) -> Any:
        """What was seen under this name when the same was asked; else what `see` sees now (never null), which is kept
        before it is given back."""
        if (known := self.find(name, asked)) is not None:
            return known
        seen = see()
        self.keep(name, asked, seen)
        return seen

    def finish(self) -> None:
        """The work is in the store: nobody needs it any more."""
        with self._lock:
            if self._file is not None:
                self._known.clear()
                self.path.unlink(missing_ok=True)


def journal_of(places: Places, work_id: str) -> ReplayLog:
    """The journal of a piece of work. Stores that share a cache have their own: each has its own replies."""
    return ReplayLog(places.journals / f"{content_key('journal', places.store, work_id)}.jsonl")


def _entries(path: Path) -> list[tuple[str, tuple[str, Any]]]:
    """What a file holds; what was being written when the power went is cut off, or later lines would follow on it."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    entries = []
    for line in whole.splitlines():
        with suppress(ValueError, TypeError):  # a line that a disk spoiled was not seen
            name, asked, seen = json.loads(line)
            entries.append((str(name), (str(asked), seen)))
    return entries
