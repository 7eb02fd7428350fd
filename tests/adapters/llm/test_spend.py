"""Processes that pay for the same exceed no budget together, whenever one of them is killed. On both backends."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from coordination_bench import Backend, read_line, send_line

from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.budget import Budget, Meter, ReservedSpend, Spent
from tasks.adapters.llm.limits.spend import SpendLedger, join_ledger
from tasks.domain.errors import LeaseError
from tests.fakes.services import PostgreSql

SPENDER = """
import time
from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.limits.spend import join_ledger
usd, seconds = map(float, sys.argv[1:])
with join_ledger(coordinator, Spent) as (ledger, already):
    meter = Meter("sweep s", Budget(usd=usd), already=already, shared=ledger)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        while True:
            with meter.admitted(CostBound(tokens=10, usd=0.02)) as place:
                place.sent()
                print("sent", flush=True)
                time.sleep(seconds)
                place.answered(Reply(text="", usage=Usage(prompt=5, completion=5), cost_usd=0.01))
    except BudgetExhausted:
        print("answered", meter.spent.calls, flush=True)
    sys.stdin.readline()
"""


def spender(backend: Backend, usd: float, seconds: float = 0.002) -> subprocess.Popen[str]:
    """A process that has joined, and spends when it reads a line."""
    return backend.start(SPENDER, usd, seconds)


def answered(process: subprocess.Popen[str]) -> int:
    while not (line := read_line(process)).startswith("answered"):
        assert line == "sent"
    return int(line.split()[1])


def test_two_at_once_spend_what_one_may(backend: Backend) -> None:
    both = [spender(backend, 0.2) for _ in range(2)]
    for one in both:
        send_line(one)
    assert sum(map(answered, both)) == 19, "the last cent is less than a call may take"


def test_what_a_killed_process_had_reserved_is_spent(backend: Backend) -> None:
    coordinator = backend.open()
    with join_ledger(coordinator, Spent) as (ledger, already):
        meter = Meter("sweep s", Budget(usd=0.05), already=already, shared=ledger)
        killed = spender(backend, 0.05, seconds=600)
        send_line(killed)
        assert read_line(killed) == "sent"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with meter.admitted(CostBound(tokens=10, usd=0.03)) as place:
            place.sent()
        with (
            pytest.raises(BudgetExhausted, match=r"has used 0\.05 of 0\.05 usd"),
            meter.admitted(CostBound(tokens=1, usd=0.01)),
        ):
            pass
    with join_ledger(coordinator, lambda: Spent(usd=0.01)) as (ledger, already):
        assert already == Spent(usd=0.01)
        with ledger.transaction() as (others, _):
            assert others.spent == Spent(), "no process is alive, so the store contains all spend"


def test_a_process_that_joins_later_counts_what_the_store_contained_once(backend: Backend) -> None:
    first = spender(backend, 0.05)
    send_line(first)
    number = answered(first)
    known = Spent(calls=number, usd=number * 0.01, tokens=number * 10)
    with join_ledger(backend.open(), lambda: known) as (ledger, already), ledger.transaction() as (others, _):
        assert (already, others.spent.calls, others.held.calls) == (known, 0, 0)


def test_a_dead_process_whose_calls_were_recovered_counts_no_more(backend: Backend) -> None:
    """While another process is alive its row stays, and the store contains what it had reserved."""
    coordinator = backend.open()
    with join_ledger(coordinator, Spent) as (early, _):
        killed = spender(backend, 0.05, seconds=600)
        send_line(killed)
        assert read_line(killed) == "sent"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        while _reserved(early):
            time.sleep(0.1)
        recovered = Spent(unpriced=1, estimated_usd=0.02, tokens=10)
        with join_ledger(coordinator, lambda: recovered) as (late, already):
            assert already == recovered
            with late.transaction() as (others, _):
                assert (others.spent, others.held) == (Spent(), ReservedSpend())
            with early.transaction() as (others, _):
                assert others.spent == Spent(calls=1, unpriced=1, estimated_usd=0.02, tokens=10)


def _reserved(ledger: SpendLedger) -> bool:
    with ledger.transaction() as (others, _):
        return others.held.calls > 0


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
@pytest.mark.postgresql
def test_a_transaction_whose_database_stops_reserves_nothing(database: PostgreSql, backend: Backend) -> None:
    with join_ledger(backend.open(), Spent) as (ledger, already):
        with pytest.raises(LeaseError):
            _cut_off(database, ledger)
        database.start()
        meter = Meter("sweep s", Budget(usd=0.05), already=already, shared=ledger)
        with meter.admitted(CostBound(tokens=10, usd=0.03)) as place:
            place.sent()


def _cut_off(database: PostgreSql, ledger: SpendLedger) -> None:
    with ledger.transaction() as (_, publish):
        publish(Spent(), ReservedSpend(calls=1, usd=0.05))
        database.stop(signal.SIGQUIT)
