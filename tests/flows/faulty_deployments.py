"""Two stories as a worker runs them, on a disk that is full in the rounds that a file names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from prefect import task_engine

from benchmarks.faults import AT_ONCE, Faulty, disk_full
from flows.deployments import PrefectExecutor, flow_of
from flows.engine.units import Executor
from flows.interface.pipelines import PIPELINES
from flows.interface.settings import Settings

FULL = "SWT_TEST_FULL_ROUNDS"
"""Variable that names the file."""


BUSY = "busy"
"""A line of that file: the first task run's question for a place under its tags is answered by 503."""


def faulty(settings: Settings) -> Executor:
    rounds = Path(os.environ[FULL]).read_text().splitlines()
    if BUSY in rounds:
        answers = iter((_busy,))
        asked = task_engine._concurrency
        task_engine._concurrency = lambda **words: next(answers, asked)(**words)  # type: ignore[attr-defined]
    return Faulty(disk_full(*rounds), PrefectExecutor(settings.workers, AT_ONCE))


@contextmanager
def _busy(**_: Any) -> Iterator[None]:
    answer = httpx.Response(503, request=httpx.Request("POST", "http://127.0.0.1/v2/concurrency_limits/increment"))
    answer.raise_for_status()
    yield


rebuild, validate = (
    flow_of(next(story for story in PIPELINES if story.name == name), faulty) for name in ("rebuild", "validate")
)
