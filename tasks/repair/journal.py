"""What an attempt under way has seen of the outside: runs of tests, answers of the debugger.

With it an attempt that was killed is told the same again, so its questions to the model are the same again too, and
these are replayed and not paid twice. Two runs of one test never print the same: times, addresses, folders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any


class Journal:
    """A file of JSON lines, appended to as things are seen. Thread-safe; for one attempt at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._known = dict(_entries(path))

    def once(self, name: str, asked: str, see: Callable[[], Any]) -> Any:
        """What was seen under this name when the same was asked; else what `see` sees now, which is kept (as JSON)
        before it is given back."""
        if name in self._known and self._known[name][0] == asked:
            return self._known[name][1]
        seen = see()
        line = json.dumps([name, asked, seen], ensure_ascii=True).encode() + b"\n"
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._known[name] = (asked, seen)
        return seen

    def close(self) -> None:
        """The attempt is finished and in the store: nobody needs it any more."""
        self.path.unlink(missing_ok=True)


def _entries(path: Path) -> list[tuple[str, tuple[str, Any]]]:
    """What a file holds; what was being written when the power went is cut off, or later lines would follow on it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.truncate(path, len(whole))
    entries = []
    for line in whole.splitlines():
        with suppress(ValueError):  # a line that a disk spoiled was not seen
            name, asked, seen = json.loads(line)
            entries.append((str(name), (str(asked), seen)))
    return entries
