"""Statistics in SQL against scipy, and against the figures of the paper's tables."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import pytest
from scipy import stats
from sql_store import SqlStore

RATES = [(0, 5), (1, 1), (3, 7), (26, 276), (44, 276), (51, 276), (276, 276)]


def wilson(k: int, n: int) -> tuple[float, float]:
    interval = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    return interval.low, interval.high


@pytest.mark.parametrize(("k", "n"), RATES)
def test_wilson(store: SqlStore, k: int, n: int) -> None:
    assert store.one(f"SELECT wilson_low({k}, {n}), wilson_high({k}, {n})") == pytest.approx(wilson(k, n), abs=1e-12)


def test_the_interval_of_nothing_is_none(store: SqlStore) -> None:
    assert store.one("SELECT wilson_low(0, 0), wilson_high(0, 0)") == (None, None)


def check(store: SqlStore, macro: str, cases: list[tuple[int, ...]], expected: Callable[..., float]) -> None:
    calls = ", ".join(f"{macro}({', '.join(map(str, case))})" for case in cases)
    assert store.one(f"SELECT {calls}") == pytest.approx([expected(*case) for case in cases], abs=1e-9)


def test_mcnemar_is_the_two_sided_binomial_test(store: SqlStore) -> None:
    cases = [(1, 0), (3, 9), (5, 5), (0, 12), (40, 70)]
    check(store, "mcnemar_exact", cases, lambda b, c: stats.binomtest(b, b + c).pvalue)
    assert store.value("SELECT mcnemar_exact(0, 0)") == 1


def test_hypergeometric_tail(store: SqlStore) -> None:
    cases = [(1, 26, 16, 276), (7, 44, 50, 276), (0, 5, 5, 8), (2, 5, 5, 8), (6, 5, 5, 8)]
    check(store, "hypergeometric_tail", cases, lambda k, m, n, t: stats.hypergeom.sf(k - 1, t, m, n))


def test_fisher(store: SqlStore) -> None:
    def p(a: int, n: int, b: int, m: int) -> float:
        return float(stats.fisher_exact([[a, n - a], [b, m - b]], alternative="greater").pvalue)

    check(store, "fisher_greater", [(5, 83, 4, 83), (50, 80, 30, 90), (0, 9, 3, 9)], p)


def test_normal_cdf(store: SqlStore) -> None:
    values = [-5.5, -2.0, -0.001, 0.0, 0.3416, 1.96, 4.0]
    found = store.one(f"SELECT {', '.join(f'normal_cdf({z})' for z in values)}")
    assert found == pytest.approx(stats.norm.cdf(values), abs=1e-12)


def test_the_papers_p_values(store: SqlStore) -> None:
    found = store.one("""
        SELECT round(100 * hypergeometric_tail(1, 26, 16, 276), 1),
            round(100 * hypergeometric_tail(7, 44, 50, 276), 1),
            round(100 * two_proportion_z(5, 83, 4, 83), 1)
    """)
    assert found == (80.4, 72.8, 36.6)


def test_two_equal_rates_of_nothing_do_not_differ(store: SqlStore) -> None:
    assert store.one("SELECT two_proportion_z(0, 9, 0, 9), two_proportion_z(9, 9, 9, 9)") == (0.5, 0.5)
    assert store.value("SELECT two_proportion_z(0, 0, 1, 9)") is None


def test_unbiased_pass(store: SqlStore) -> None:
    cases = [(n, c, k) for n in (1, 5) for c in range(n + 1) for k in range(1, n + 1)]
    check(store, "unbiased_pass", cases, lambda n, c, k: 1 - comb(n - c, k) / comb(n, k))
    assert store.value("SELECT unbiased_pass(2, 1, 3)") is None


def test_sample_sizes(store: SqlStore) -> None:
    def difference(p: float, n: int) -> float:
        z = stats.norm.ppf(0.95) + stats.norm.ppf(0.8)
        return float(z * (2 * p * (1 - p) / n) ** 0.5)

    needed = store.value("SELECT instances_needed(0.06, 0.05)")
    assert difference(0.06, needed) <= 0.05 < difference(0.06, needed - 1)
    assert store.value(f"SELECT detectable_difference(0.06, {needed}, {needed})") == pytest.approx(
        difference(0.06, needed)
    )
