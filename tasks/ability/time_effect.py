"""Success against the time since a model's cutoff, as a mixed logistic regression. Pure.

A method solves an instance that was opened t years after the cutoff (before it: t < 0) and is of repository r with the
probability 1 / (1 + exp(-(level + effect * t + u_r))), u_r normal around 0. The u_r are integrated out by Gauss-Hermite
quadrature and the maximum is found by scipy, as for the scale; `BinomialBayesMixedGLM` of statsmodels fits the same
model by an approximation and would be one more dependency. The interval is Wald's, from the curvature at the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp, ndtr

from tasks.ability.scale import Counts, Floats

_POINTS = 21
_PRIOR = 5.0
"""Standard deviation of level and effect, in logits: who solves all, or only what is new, has no finite maximum."""
_STEP = 1e-4
_Z = 1.959963984540054
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_POINTS)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a year more since the cutoff does to success, in logits; below 0 where newer instances are solved less."""

    effect: float
    low: float
    high: float
    """95 % interval."""
    p: float
    """One-sided, that the effect is below 0."""
    spread: float
    """Standard deviation of repositories around the level, in logits."""


def time_effect(solved: Floats, years: Floats, repository: Counts) -> Effect:
    """Fit `solved` (1 or 0) to `years` since the cutoff; `repository` numbers each instance's, from 0.

    `ValueError` where the lengths differ or there is nothing.
    """
    if not len(solved) or not len(solved) == len(years) == len(repository):
        raise ValueError("solved, years and repository need one value for each of some instances")
    found = minimize(_loss, np.zeros(3), args=(solved, years, repository), jac=True, method="L-BFGS-B").x
    error = float(np.sqrt(np.linalg.inv(_curvature(found, solved, years, repository))[1, 1]))
    effect = float(found[1])
    return Effect(
        effect=effect,
        low=effect - _Z * error,
        high=effect + _Z * error,
        p=float(ndtr(effect / error)),
        spread=float(np.exp(found[2])),
    )


def _loss(values: Floats, solved: Floats, years: Floats, repository: Counts) -> tuple[float, Floats]:
    """Minus the log of likelihood and priors at (level, effect, log of spread), and its gradient."""
    level, effect, log_spread = values
    spread = np.exp(log_spread)
    ease = (level + effect * years)[:, None] + spread * _NODES
    each = np.where(solved[:, None] == 1, log_expit(ease), log_expit(-ease))
    per_point = np.tile(_LOG_WEIGHTS, (int(repository.max()) + 1, 1))
    np.add.at(per_point, repository, each)
    whole = logsumexp(per_point, axis=1)
    pull = np.exp(per_point - whole[:, None])[repository] * (solved[:, None] - expit(ease))
    loss = -whole.sum() + (level**2 + effect**2) / (2 * _PRIOR**2) + log_spread**2 / 2
    slope = [
        level / _PRIOR**2 - pull.sum(),
        effect / _PRIOR**2 - (pull.sum(axis=1) @ years),
        log_spread - (pull.sum(axis=0) @ _NODES) * spread,
    ]
    return float(loss), np.array(slope)


def _curvature(at: Floats, solved: Floats, years: Floats, repository: Counts) -> Floats:
    """The Hessian, by differences of the gradient."""
    steps = np.eye(3) * _STEP
    slopes = [
        (_loss(at + step, solved, years, repository)[1], _loss(at - step, solved, years, repository)[1])
        for step in steps
    ]
    curvature = np.array([(up - down) / (2 * _STEP) for up, down in slopes])
    symmetric: Floats = (curvature + curvature.T) / 2
    return symmetric
