"""Replay log of a unit: command output and file changes, test runs, and debugger output.

After a kill, the resumed unit gets the same results from the log. So its questions to the model are the same, and the
reply cache answers them without cost. Without the log they differ, because times, addresses and temporary names differ
in every run.
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
    """A file of JSON lines, appended to with each result. Use it in a `with`. Thread-safe.

    The first process that opens the log owns it. A second process doing the same work runs without replay, because two
    writers would mix up their results.
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
        """Returns the result under this name if it was stored for the same request; else None."""
        with self._lock:
            known, seen = self._known.get(name, ("", None))
        return seen if known == asked else None

    def keep(self, name: str, asked: str, seen: Any) -> None:
        """Append a result as JSON. If the disk fails, the log is closed but the work continues."""
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
        """Returns the stored result for this name and request. Otherwise calls `see`, stores its result (never None)
        and returns it."""
        if (known := self.find(name, asked)) is not None:
            return known
        seen = see()
        self.keep(name, asked, seen)
        return seen

    def finish(self) -> None:
        """Delete the log. The results are in the store now."""
        with self._lock:
            if self._file is not None:
                self._known.clear()
                self.path.unlink(missing_ok=True)


def journal_of(places: Places, work_id: str) -> ReplayLog:
    """Returns the log of a unit. Stores that share a cache have separate logs, because each store has its own
    replies."""
    return ReplayLog(places.journals / f"{content_key('journal', places.store, work_id)}.jsonl")


def _entries(path: Path) -> list[tuple[str, tuple[str, Any]]]:
    """Returns the entries of a file. A last line that a power failure cut off is truncated, so that new lines do not
    join it."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    entries = []
    for line in whole.splitlines():
        with suppress(ValueError, TypeError):  # a corrupt line counts as not recorded
            name, asked, seen = json.loads(line)
            entries.append((str(name), (str(asked), seen)))
    return entries
