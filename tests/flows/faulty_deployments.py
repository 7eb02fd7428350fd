"""Two stories as a worker runs them, on a disk that is full in the rounds that a file names."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.faults import AT_ONCE, Faulty, disk_full
from flows.deployments import PrefectTasks, flow_of
from flows.run import Board
from flows.settings import Settings
from flows.stories import STORIES

FULL = "SWT_TEST_FULL_ROUNDS"
"""Variable that names the file."""


def faulty(settings: Settings) -> Board:
    rounds = Path(os.environ[FULL]).read_text().splitlines()
    return Faulty(disk_full(*rounds), PrefectTasks(settings.workers, AT_ONCE))


rebuild, validate = (
    flow_of(next(story for story in STORIES if story.name == name), faulty) for name in ("rebuild", "validate")
)
