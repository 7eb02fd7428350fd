"""What a sweep would cost: between two bounds, by the store's history where there is one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.catalogue.prices import Price
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.llm.records.row_maker import RowMaker, Stamp
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import LlmCall, Work
from tasks.generate.estimate import MissingCalls, WorkEstimate
from tasks.generate.planning import Prospect, past_of, plan_text, planned

NOW = datetime(2026, 11, 1, tzinfo=UTC)
PRICE = Price(key="m", valid_from=date(2020, 1, 1), input=1.0, output=2.0, source="a test")
AGENT = WorkEstimate(calls=20, tokens_in=20_000, tokens_in_least=1_000, grows=True, tokens_out=20_000)
ONE = WorkEstimate(calls=1, tokens_in=1_000, tokens_in_least=1_000, grows=False, tokens_out=500)
UNPAID = CostBound(tokens=1, usd=None)


def call(instance: int, usd: float | None, *, position: int = 0, later: float = 0.0, method: str = "agent") -> LlmCall:
    request = ModelRequest(model="m", model_id="m", messages=(), sample=position + int(1000 * later))
    work = Work(method=method, instance_id=f"a__b-{instance}", instance_key=f"k{instance}")
    maker = RowMaker(
        request=request,
        work=work,
        step="",
        dialect="",
        run_token="",
        position=position,
        nth=0,
        bound=UNPAID,
        stamp=Stamp(),
    )
    reply = Reply(text="", usage=Usage(), cost_usd=usd)
    at = NOW + timedelta(hours=later)
    return maker.answered(reply, attempt=1, waited_s=0.0, started=at, finished=at)


def write(store: Store, *rows: LlmCall) -> None:
    for row in rows:
        store.write([row], key=row.call_id)


def prospect(store: Store, context: int | None = 100_000) -> Prospect:
    return Prospect(model="m", price=PRICE, context=context, output=None, past=past_of(store, "m"))


def test_a_history_is_told_by_instance(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, *(call(number, number / 10) for number in range(1, 11)))
    write(store, call(3, 9.0, position=1), call(3, 0.0, position=1, later=1.0))  # done again: the latest counts
    write(store, call(11, 0.1), call(11, None, position=1))  # its cost is unknown
    write(store, *(call(number, 1.0, method="rare") for number in range(4)))
    past = past_of(store, "m")
    assert list(past) == ["agent"]
    assert (len(past["agent"].costs), past["agent"].mean) == (10, pytest.approx(0.55))
    found = [MissingCalls(estimate=AGENT, finished=frozenset(done)) for done in ("", "", "", "m")]
    row = planned("agent", "agent", found, prospect(store))
    assert (row.past, row.in_store) == (10, 1)
    assert (row.usd_low, row.usd_mean, row.usd_high) == pytest.approx((3 * 0.19, 3 * 0.55, 3 * 0.91))
    assert planned("agent", "agent[samples=2]", found, prospect(store)).past == 0
    assert "at least 0.57 and at most 2.73 dollars if instances cost what 8 of 10 in the store did" in plan_text([row])


def test_without_one_a_conversation_may_fill_the_models_context_at_every_call(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    found = [MissingCalls(estimate=AGENT, finished=frozenset())]
    row = planned("agent", "agent", found, prospect(store))
    assert (row.usd_low, row.usd_mean, row.past) == (0.0007, None, 0)
    assert row.usd_high == pytest.approx(20 * 0.1 + 0.04)
    assert planned("agent", "agent", found, prospect(store, context=None)).usd_high is None
    single = planned("zero_shot", "zero_shot", [MissingCalls(estimate=ONE, finished=frozenset())], prospect(store))
    assert (single.usd_low, single.usd_high) == (0.0007, 0.0025)


def test_what_an_agents_program_says_is_limited_by_the_models_card_alone(tmp_path: Path) -> None:
    store, unsaid = Store(str(tmp_path)), replace(AGENT, tokens_out=None)
    found = [MissingCalls(estimate=unsaid, finished=frozenset())]
    limited = replace(prospect(store), output=8_000)
    assert planned("aider", "aider", found, limited).usd_high == pytest.approx(20 * (0.1 + 0.016))
    assert planned("aider", "aider", found, prospect(store)).usd_high == pytest.approx(20 * (0.1 + 0.2))


def test_the_least_is_all_from_the_providers_cache_and_the_most_is_all_put_into_it(tmp_path: Path) -> None:
    dear = PRICE.model_copy(update={"cached": 0.1, "written": 1.25})
    row = planned(
        "one",
        "one",
        [MissingCalls(estimate=ONE, finished=frozenset())],
        replace(prospect(Store(str(tmp_path))), price=dear),
    )
    assert (row.usd_low, row.usd_high) == (0.0, pytest.approx(0.0029))
