"""Does the fit of success against time find what was put in? Simulated methods with a known effect of the cutoff.

    python -m benchmarks.contamination_study [--runs 300]

Of each setting: the mean error of the effect, the share of 95 % intervals that hold the truth, and how often one-sided
tests at 5 % speak of contamination: by the fit, and by Fisher's exact test on before and after the cutoff. Where the
effect is 0 that is a false alarm, elsewhere it is the power.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import fisher_exact

from tasks.ability.scale import Counts, Floats
from tasks.ability.time_effect import time_effect

LEVEL = -1.0
"""Logits: a quarter to a third is solved."""
ALARM = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How instances are drawn."""

    name: str
    effect: float
    """Logits for a year."""
    instances: int = 300
    repositories: int = 12
    spread: float = 1.0
    """Standard deviation of repositories, in logits."""
    window: float = 2.0
    """Years that a repository's instances spread over; all of them lie within two years around the cutoff."""


SETTINGS = (
    Setting(name="no effect", effect=0.0),
    Setting(name="no effect, each repository in half a year of its own", effect=0.0, window=0.5),
    Setting(name="−0.5 a year", effect=-0.5),
    Setting(name="−1 a year", effect=-1.0),
    Setting(name="−1 a year, each repository in half a year of its own", effect=-1.0, window=0.5),
    Setting(name="−1 a year, 60 instances", effect=-1.0, instances=60),
    Setting(name="−1 a year, 4 repositories", effect=-1.0, repositories=4),
    Setting(name="−1 a year, repositories alike", effect=-1.0, spread=0.0),
)


def draw(setting: Setting, lot: np.random.Generator) -> tuple[Floats, Floats, Counts]:
    """solved, years and repository of one method; few repositories have most instances, as they do."""
    share = 1 / np.arange(1, setting.repositories + 1)
    repository = lot.choice(setting.repositories, setting.instances, p=share / share.sum())
    start = (
        lot.uniform(-1, 1 - setting.window, setting.repositories)
        if setting.window < 2
        else np.full(setting.repositories, -1.0)
    )
    years = start[repository] + lot.uniform(0, setting.window, setting.instances)
    level = LEVEL + lot.normal(0, setting.spread, setting.repositories)[repository]
    solved = (lot.random(setting.instances) < expit(level + setting.effect * years)).astype(float)
    return solved, years, repository.astype(np.int64)


def study(setting: Setting, runs: int, seed: int) -> dict[str, float]:
    """Figures of one setting."""
    lot = np.random.default_rng(seed)
    errors, held, fitted, exact = [], [], [], []
    for _ in range(runs):
        solved, years, repository = draw(setting, lot)
        found = time_effect(solved, years, repository)
        errors.append(found.effect - setting.effect)
        held.append(found.low <= setting.effect <= found.high)
        fitted.append(found.p < ALARM)
        sides = [[(solved[side] == 1).sum(), (solved[side] == 0).sum()] for side in (years < 0, years >= 0)]
        exact.append(fisher_exact(sides, alternative="greater").pvalue < ALARM)
    return {
        "error": float(np.mean(errors)),
        "held": float(np.mean(held)),
        "fitted": float(np.mean(fitted)),
        "exact": float(np.mean(exact)),
    }


def rows(runs: int) -> Iterator[str]:
    """A Markdown table."""
    yield "| effect | mean error, logits | intervals that hold | alarms of the fit | alarms of Fisher's test |"
    yield "| --- | --- | --- | --- | --- |"
    for setting in SETTINGS:
        found = study(setting, runs, seed=1)
        shares = " | ".join(f"{100 * found[key]:.1f} %" for key in ("held", "fitted", "exact"))
        yield f"| {setting.name} | {found['error']:+.2f} | {shares} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="simulated methods of each setting")
    given = parser.parse_args()
    for line in rows(given.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
