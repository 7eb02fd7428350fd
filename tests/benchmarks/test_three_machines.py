"""Three processes with nothing in common but an object store and PostgreSQL do one sweep, each part of it once."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.machine_faults import FAULTS
from benchmarks.machines import Work, cluster_of
from benchmarks.three_machines import drawn, play
from tasks.domain.errors import NotFound

WORK = Work(instances=("rolling-swt-bench__larder-3",), methods=("pass_at_5",))


def test_over_all_rounds_each_kind_of_fault_comes_equally_often() -> None:
    rounds = [drawn(5, number, 3) for number in range(1, 21)]
    assert Counter(fault.name for one in rounds for fault in one) == {fault.name: 6 for fault in FAULTS}
    assert rounds == [drawn(5, number, 3) for number in range(1, 21)]
    assert rounds != [drawn(6, number, 3) for number in range(1, 21)]


@pytest.mark.drill
@pytest.mark.s3
@pytest.mark.postgresql
def test_each_run_and_each_reply_once_and_the_verdicts_of_one_machine(tmp_path: Path) -> None:
    try:
        with cluster_of(tmp_path, WORK) as cluster:
            told = play(cluster, "test", (), random.Random(0))
    except NotFound as missing:
        pytest.skip(f"{missing}: {missing.hint}")
    assert told.wrong == ()
    assert told.exit_codes == (0, 0, 0)
    assert (told.made, told.calls, told.paid_twice, told.unknown) == (cluster.runs, 5, 0, 0)
