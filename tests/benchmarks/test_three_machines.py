"""Three processes with nothing in common but an object store and PostgreSQL do one sweep, each part of it once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.machine_faults import NONE
from benchmarks.machines import Work, cluster_of
from benchmarks.three_machines import play
from tasks.domain.errors import NotFound

pytestmark = [pytest.mark.slow, pytest.mark.s3, pytest.mark.postgresql]

WORK = Work(instances=("rolling-swt-bench__larder-3",), methods=("zero_shot_plus",))


def test_each_run_and_each_reply_once_and_the_verdicts_of_one_machine(tmp_path: Path) -> None:
    try:
        with cluster_of(tmp_path, WORK) as cluster:
            told = play(cluster, "test", NONE, random.Random(0))
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")
    assert told.wrong == ()
    assert told.exit_codes == (0, 0, 0)
    assert (told.made, told.calls, told.paid_twice, told.unknown) == (cluster.runs, 1, 0, 0)
