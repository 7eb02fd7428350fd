"""The scale finds what was put in, whatever months methods ran on, and says what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from benchmarks.ability_study import Setting, draw, gap_of_rates, study
from tasks.ability.scale import Counts, Floats, _Cells, fit, resampled

LONG = Setting(name="long", instances=400, drift=2.0)


def test_a_harder_month_lowers_nobody() -> None:
    drawn = draw(LONG, np.random.default_rng(3))
    scale = fit(drawn.solved, drawn.month)
    off = scale.ability - drawn.ability
    assert np.abs(off).max() < 0.6
    assert np.allclose(np.diff(scale.difficulty).sum(), LONG.drift, atol=0.4)
    assert scale.difficulty[0] == 0
    assert scale.spread == pytest.approx(1.3, abs=0.2)
    early, late = drawn.first == 0, drawn.first == drawn.first.max()
    assert abs(off[early].mean() - off[late].mean()) < 0.3
    assert gap_of_rates(drawn, early, late) > 8


@pytest.mark.slow
def test_intervals_hold_about_as_often_as_they_say() -> None:
    found = study(Setting(name="year", methods=6, instances=20, drift=1.5), runs=5, times=40, seed=2)
    assert 0.85 <= found["held"] <= 1
    assert abs(found["bias"]) < 0.2


def test_the_gradient_is_that_of_the_loss() -> None:
    drawn = draw(Setting(name="small", methods=5, instances=8), np.random.default_rng(0))
    cells = _Cells.of(drawn.solved, drawn.month, 6, np.ones(len(drawn.month)))
    at = np.random.default_rng(1).normal(0, 0.5, 5 + 6 + 1)
    assert check_grad(lambda x: cells.loss(x)[0], lambda x: cells.loss(x)[1], at) < 1e-3


def test_what_nothing_ties_together_is_in_parts() -> None:
    solved, month = islands()
    scale = fit(solved, month)
    assert scale.method_part.tolist() == [0, 0, 1, -1]
    assert scale.month_part.tolist() == [0, 1]
    assert scale.difficulty.tolist() == [0, 0]
    assert np.isnan(scale.ability[3])


def test_all_or_nothing_has_an_end() -> None:
    solved = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]] * 10)
    scale = fit(solved, np.zeros(20, dtype=np.int64))
    assert scale.ability[0] > scale.ability[2] > scale.ability[1]
    assert np.abs(scale.ability).max() < 15


def test_the_same_seed_draws_the_same() -> None:
    solved, month = islands()
    scale = fit(solved, month)
    one, same = ([s.ability[:3].tolist() for s in resampled(solved, month, scale, 3, 7)] for _ in range(2))
    assert one == same


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="months and weights"):
        fit(np.ones((3, 2)), np.zeros(2, dtype=np.int64))


def islands() -> tuple[Floats, Counts]:
    """Two months that share no method, and a method that nothing was measured of."""
    nan = np.nan
    solved = np.array([[1, 0, nan, nan], [0, 0, nan, nan], [1, 1, nan, nan], [nan, nan, 1, nan], [nan, nan, 0, nan]])
    return solved, np.array([0, 0, 0, 1, 1])
