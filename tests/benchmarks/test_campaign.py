"""The simulated campaign: nothing of it is lost, and what is too slow is what holds it up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import campaign
from benchmarks.campaign import Measured, Plan, cut, makespan, read, simulate
from tasks.domain.errors import NotFound

MEASURED = Measured(runs=(np.array([1.0, 2.0]), np.array([30.0])), builds=np.array([10.0]))
PLAN = Plan(
    candidates=1001,
    instances=7,
    solved=0.25,
    cores=4,
    machines=3,
    minutes=5.0,
    catalog=False,
    tokens=0,
    tokens_per_s=1000,
)


def test_free_cores_take_the_next_candidate() -> None:
    assert makespan(np.array([3.0, 1.0, 1.0, 1.0]), 2) == 3
    assert makespan(np.array([1.0, 1.0, 1.0, 3.0]), 2) == 4


@pytest.mark.parametrize("minutes", [None, 5.0])
def test_every_candidate_lies_in_one_shard(minutes: float | None) -> None:
    shards = cut(replace(PLAN, minutes=minutes), MEASURED, np.random.default_rng(0))
    assert sum(len(shard.seconds) for shard in shards) == 1001
    assert {shard.instance for shard in shards} == set(range(7))
    assert len(shards) == 7 if minutes is None else len(shards) > 7


def told(**other: object) -> dict[str, str]:
    line = simulate(replace(PLAN, **other), MEASURED, 0)  # type: ignore[arg-type]
    return dict(zip(campaign.HEAD, line, strict=True))


def test_what_is_too_slow_holds_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told()["busiest"] == "cores"
    assert told(tokens=100_000)["busiest"] == "model"
    assert float(told(tokens=100_000)["hours"]) >= 1001 * 100 / 3600 - 0.1
    monkeypatch.setattr(campaign, "COMMIT_S", 3600.0)
    assert told(catalog=True)["busiest"] == "catalog"
    monkeypatch.setattr(campaign, "FLOW_S", 3600.0)
    assert told()["busiest"] == "server"


def test_a_folder_without_runs_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no completed run"):
        read([tmp_path])
