"""How far something is, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_S = 20.0
"""In a log file, no more often than this is said how far something is."""


@contextmanager
def shown(name: str, total: int, every_s: float = LINE_S) -> Iterator[Callable[[], None]]:
    """A bar on standard error, which goes on by one with each call. Where that is no terminal the bar stands there
    once, at its end, so a line now and then says how far it is."""
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done, told = 0, time.monotonic()
    # A thread that draws twice a second is for those who look: in a log file it only takes time.
    with Progress(*columns, console=console, refresh_per_second=2, auto_refresh=console.is_terminal) as bar:
        task = bar.add_task(name, total=total)

        def advance() -> None:
            nonlocal done, told
            done += 1
            bar.advance(task)
            now = time.monotonic()
            if not console.is_terminal and now - told >= every_s:
                told = now
                print(f"{name}: {done} of {total}", file=sys.stderr, flush=True)

        yield advance
