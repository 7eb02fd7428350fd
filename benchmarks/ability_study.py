"""Does the ability scale find what was put in? Simulated months with known abilities, ties and drift.

    python -m benchmarks.ability_study [--runs 100] [--times 200]

Of each setting: the bias of abilities, the share of 95 % intervals that hold the truth, and what the plain success rate
makes of the drift: how far two methods of equal ability seem apart, in percentage points, where one ran in the first
months and the other in the last.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tasks.ability.scale import Counts, Floats, fit, resampled

MONTHS, SPREAD = 6, 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How months and methods are drawn."""

    name: str
    methods: int = 16
    instances: int = 50
    """Of each month."""
    drift: float = 0.0
    """How much harder the last month is than the first, in logits."""
    reach: int = 3
    """How many months each method ran in."""
    slope: float = 0.0
    """Standard deviation of the log of how sharply an instance tells methods apart: 0 is Rasch's model."""


SETTINGS = (
    Setting(name="no drift"),
    Setting(name="harder every month", drift=1.5),
    Setting(name="easier every month", drift=-1.5),
    Setting(name="months tied by half", drift=1.5, reach=2),
    Setting(name="few methods", drift=1.5, methods=6),
    Setting(name="small months", drift=1.5, instances=15),
    Setting(name="slopes differ", drift=1.5, slope=0.4),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One simulated year."""

    solved: Floats
    month: Counts
    ability: Floats
    first: Counts
    """The month that each method starts in."""


def draw(setting: Setting, lot: np.random.Generator) -> Drawn:
    """Abilities normal, of spread 1; every second method starts a month later than the one before."""
    month = np.repeat(np.arange(MONTHS), setting.instances)
    hard = np.linspace(0, setting.drift, MONTHS)[month] + lot.normal(0, SPREAD, len(month))
    sharp = np.exp(lot.normal(0, setting.slope, len(month))) if setting.slope else np.ones(len(month))
    ability = lot.normal(0, 1, setting.methods)
    first = np.arange(setting.methods) % (MONTHS - setting.reach + 1)
    ran = (month[:, None] >= first) & (month[:, None] < first + setting.reach)
    solved = (lot.random(ran.shape) < expit(sharp[:, None] * (ability - hard[:, None]))).astype(float)
    solved[~ran] = np.nan
    return Drawn(solved=solved, month=month, ability=ability, first=first)


def study(setting: Setting, runs: int, times: int, seed: int) -> dict[str, float]:
    """Figures of one setting. Abilities are looked at as differences to their mean, which no choice of zero moves."""
    lot = np.random.default_rng(seed)
    errors, held, scale_gap, rate_gap = [], [], [], []
    for number in range(runs):
        drawn = draw(setting, lot)
        scale = fit(drawn.solved, drawn.month)
        truth, found = centred(drawn.ability), centred(scale.ability)
        again = np.array([centred(one.ability) for one in resampled(drawn.solved, drawn.month, scale, times, number)])
        low, high = np.percentile(again, [2.5, 97.5], axis=0)
        errors.append(found - truth)
        held.append((low <= truth) & (truth <= high))
        early, late = drawn.first == 0, drawn.first == drawn.first.max()
        apart = truth[early].mean() - truth[late].mean()
        scale_gap.append(found[early].mean() - found[late].mean() - apart)
        rate_gap.append(gap_of_rates(drawn, early, late))
    return {
        "bias": float(np.mean(scale_gap)),
        "error": float(np.abs(errors).mean()),
        "held": float(np.mean(held)),
        "rates": float(np.mean(rate_gap)),
    }


def gap_of_rates(drawn: Drawn, early: Counts, late: Counts) -> float:
    """How far the rates of early and late methods are apart beyond what an equal month would show, in points."""
    rates = 100 * np.nanmean(drawn.solved, axis=0)
    centre = centred(drawn.ability)
    line = np.polyfit(centre, rates, 1)
    left = rates - np.polyval(line, centre)
    return float(left[early].mean() - left[late].mean())


def centred(values: Floats) -> Floats:
    """Differences to the mean."""
    centre: float = values.mean()
    return values - centre


def rows(runs: int, times: int) -> Iterator[str]:
    """A Markdown table."""
    yield "| setting | error, logits | bias early − late, logits | intervals that hold | early − late by rates |"
    yield "| --- | --- | --- | --- | --- |"
    for setting in SETTINGS:
        found = study(setting, runs, times, seed=1)
        yield (
            f"| {setting.name} | {found['error']:.2f} | {found['bias']:+.2f} | {100 * found['held']:.1f} % "
            f"| {found['rates']:+.1f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="simulated years of each setting")
    parser.add_argument("--times", type=int, default=200, help="samples of each interval")
    given = parser.parse_args()
    for line in rows(given.runs, given.times):
        print(line, flush=True)


if __name__ == "__main__":
    main()
