"""The order of robustness checks follows from a secret: each order of sides is as likely as another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations

from tasks.domain.outcome import CodeState, RunVariant
from tasks.evaluate.runs.plan import in_secret_order

DRAWS = 4_000


@dataclass(frozen=True)
class Spec:
    """What of a run spec the order may depend on, and a key that it may not."""

    variant: RunVariant
    code_state: CodeState
    run_key: str = ""


SPECS = (
    Spec(RunVariant.REPEAT, CodeState.BEFORE),
    Spec(RunVariant.REPEAT, CodeState.AFTER),
    Spec(RunVariant.PLACEBO, CodeState.BEFORE),
    Spec(RunVariant.PARAPHRASE, CodeState.AFTER),
    Spec(RunVariant.VARIANT, CodeState.AFTER),
    Spec(RunVariant.PROPOSED, CodeState.BEFORE),
)


def sides(secret: str) -> tuple[CodeState, ...]:
    return tuple(spec.code_state for spec in in_secret_order(SPECS, secret))  # type: ignore[type-var]


def test_every_order_of_the_sides_is_as_likely_as_another() -> None:
    """20 orders; none comes up less than half or more than twice as often as it should (beyond 7 standard errors)."""
    drawn = Counter(sides(f"{number:032x}") for number in range(DRAWS))
    assert len(drawn) == len(list(combinations(range(6), 3)))
    assert all(DRAWS / 40 < times < DRAWS / 10 for times in drawn.values())


def test_the_order_is_that_of_the_secret_and_nothing_else() -> None:
    other = tuple(replace(spec, run_key=f"{number}") for number, spec in enumerate(reversed(SPECS)))
    ordered = [replace(spec, run_key="") for spec in in_secret_order(other, "a")]  # type: ignore[type-var]
    assert ordered == list(in_secret_order(SPECS, "a"))  # type: ignore[type-var]
