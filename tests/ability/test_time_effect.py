"""What time since the cutoff does to success is found; repositories of different times do not look like it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.optimize import check_grad

from benchmarks.contamination_study import Setting, draw, study
from tasks.ability.task import Rating, time_rows
from tasks.ability.time_effect import _loss, time_effect


@pytest.mark.slow
def test_intervals_hold_and_the_effect_is_found() -> None:
    falling = study(Setting(name="falling", effect=-1.0), runs=40, seed=2)
    assert falling["held"] >= 0.85
    assert abs(falling["error"]) < 0.15
    assert falling["fitted"] > 0.7


@pytest.mark.slow
def test_repositories_that_came_at_different_times_raise_fewer_alarms_than_the_exact_test() -> None:
    apart = study(Setting(name="apart", effect=0.0, window=0.5), runs=60, seed=2)
    assert apart["held"] >= 0.8
    assert apart["fitted"] < apart["exact"]


def test_the_gradient_is_that_of_the_loss() -> None:
    drawn = draw(Setting(name="small", effect=-0.5, instances=30), np.random.default_rng(0))
    at = np.array([0.3, -0.4, 0.2])
    assert check_grad(lambda x: _loss(x, *drawn)[0], lambda x: _loss(x, *drawn)[1], at) < 1e-3


def test_all_or_nothing_has_an_end_and_nothing_at_all_is_refused() -> None:
    found = time_effect(np.ones(20), np.linspace(-1, 1, 20), np.zeros(20, dtype=np.int64))
    assert found.low < 0 < found.high
    with pytest.raises(ValueError, match="one value for each"):
        time_effect(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))


def test_each_method_of_each_snapshot_has_a_row() -> None:
    cells = [
        {"snapshot": "s", "method": method, "model": "m", "repo": f"r{n % 3}", "years": n / 10 - 1, "solved": solved}
        for method, old in (("a", True), ("b", False))
        for n in range(20)
        for solved in [(n < 10) == old]
    ]
    unit = Rating(grader="paper", guarded=False, snapshots=(), times=1, seed=0)
    one, other = time_rows(unit, cells, datetime.now(UTC))
    assert (one.method, one.instances, one.repositories) == ("a", 20, 3)
    assert one.high < 0 < other.low
