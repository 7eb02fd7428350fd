"""A sweep of one question costs what its dry run says, with a model of few words and one of many."""

from __future__ import annotations

import pytest

from benchmarks.demo_warehouse import demo_warehouse
from benchmarks.dry_run import CARD, Outcome, Talker, tried
from tests.fakes.scripted_provider.server import ScriptedProvider


@pytest.mark.slow
@pytest.mark.parametrize("brief", [True, False])
def test_a_sweep_costs_what_was_said(brief: bool) -> None:
    with demo_warehouse(ScriptedProvider(Talker(brief)), lambda url: CARD.format(url=url)) as settings:
        found = tried("zero_shot_plus", settings)
    assert found.within, found
    assert found.calls == 2


@pytest.mark.parametrize(
    "found",
    [
        Outcome(low=0.2, high=0.3, calls=1, actual=0.1, left=0),
        Outcome(low=0.2, high=0.3, calls=1, actual=0.4, left=0),
        Outcome(low=0.2, high=None, calls=1, actual=0.25, left=0),
        Outcome(low=0.2, high=0.3, calls=1, actual=0.25, left=1),
        Outcome(low=0.0, high=0.3, calls=0, actual=0.0, left=0),
    ],
)
def test_what_is_not_within(found: Outcome) -> None:
    assert not found.within
