"""How units of work are spread: threads here, Prefect tasks under a server. A unit carries ids, never blobs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tasks.domain.errors import SwtError
from tasks.domain.retrying import may_pass

if TYPE_CHECKING:
    from prefect import Task

Result = TypeVar("Result")
Unit = tuple[Any, ...]

ATTEMPTS = 3
PAUSE_S = 2.0
"""Between two attempts at a unit that failed for a reason that may pass."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit that could not be done; the others are not touched by it."""

    error: SwtError


class FanOut(Protocol):
    """Calls a function of a stage once per unit and returns what each came to, in the order of the units.

    Errors of ours become `Failed`; whatever else is raised is a bug and ends the flow.
    """

    def __call__(self, label: str, function: Callable[..., Result], units: Sequence[Unit]) -> list[Result | Failed]: ...


class Threads:
    """Bounded threads in this process, with a progress bar on standard error. Needs no server."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def __call__(self, label: str, function: Callable[..., Result], units: Sequence[Unit]) -> list[Result | Failed]:
        with progress_bar() as bar, ThreadPoolExecutor(self.workers) as pool:
            shown = bar.add_task(label, total=len(units))
            futures = [pool.submit(_attempted, function, unit) for unit in units]
            try:
                for future in as_completed(futures):
                    future.result()
                    bar.advance(shown)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]


Watch = Callable[[str, int, int], None]
"""Told the label, how many units are done, and how many there are."""


class PrefectTasks:
    """One task run per unit, under the flow's own task runner; at most `at_once` of them are under way."""

    def __init__(self, at_once: int, watch: Watch | None = None) -> None:
        self.at_once = at_once
        self.watch = watch

    def __call__(self, label: str, function: Callable[..., Result], units: Sequence[Unit]) -> list[Result | Failed]:
        named = _as_task(function, label)
        futures = [named.submit(*unit) for unit in units[: self.at_once]]
        results: list[Result | Failed] = []
        for number in range(len(units)):
            results.append(_settled(futures[number].result(raise_on_failure=False)))
            if self.watch:
                self.watch(label, number + 1, len(units))
            futures += [named.submit(*unit) for unit in units[len(futures) : number + 1 + self.at_once]]
        return results


def _as_task(function: Callable[..., Result], label: str) -> Task[..., Result]:
    """Tried again where the error may pass. Prefect caches nothing: what is done is in the store."""
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    retried = task(
        task_run_name=label,
        cache_policy=NO_CACHE,
        retries=ATTEMPTS - 1,
        retry_delay_seconds=5,
        retry_condition_fn=may_pass,
    )
    return retried(function)


def _attempted(function: Callable[..., Result], unit: Unit) -> Result | Failed:
    """The unit's result; an error that may pass is tried again, at most `ATTEMPTS` times in all."""
    for attempt in range(ATTEMPTS):
        try:
            return function(*unit)
        except SwtError as error:
            if not error.retry or attempt == ATTEMPTS - 1:
                return Failed(error)
            time.sleep(PAUSE_S * 2**attempt)
    raise AssertionError("the loop always returns")


def _settled(outcome: Any) -> Any:
    if isinstance(outcome, SwtError):
        return Failed(outcome)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def progress_bar() -> Progress:
    """A bar on standard error; one line at the end where that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(file=sys.stderr), refresh_per_second=2)
