"""How units of work are spread: threads here, Prefect tasks under a server. A unit carries ids, never blobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol, TypeVar

from prefect import Task
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Result = TypeVar("Result")


class FanOut(Protocol):
    """Calls a stage's task once per unit and returns the results in the order of the units."""

    def __call__(self, label: str, task: Task[..., Result], units: Sequence[tuple[Any, ...]]) -> list[Result]: ...


class Threads:
    """Bounded threads in this process, with a progress bar on standard error. Needs no server."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __call__(self, label: str, task: Task[..., Result], units: Sequence[tuple[Any, ...]]) -> list[Result]:
        function: Callable[..., Result] = task.fn
        with progress_bar() as bar, ThreadPoolExecutor(self.workers) as pool:
            shown = bar.add_task(label, total=len(units))
            futures = [pool.submit(function, *unit) for unit in units]
            try:
                for future in as_completed(futures):
                    future.result()
                    bar.advance(shown)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]


class PrefectTasks:
    """One task run per unit, under the flow's own task runner."""

    def __call__(self, label: str, task: Task[..., Result], units: Sequence[tuple[Any, ...]]) -> list[Result]:
        named = task.with_options(task_run_name=label)
        futures = [named.submit(*unit) for unit in units]
        return [future.result() for future in futures]


def progress_bar() -> Progress:
    """A bar on standard error; silent where that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(file=sys.stderr), transient=False)
