"""Processes of several machines that pay for the same pass no ceiling together, whenever one of them is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.adapters.coordination.leases import Leases
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.budget import Budget, Meter, ReservedSpend, Spent
from tasks.adapters.llm.limits.spend_postgres import SharedLedger, joined_across
from tasks.domain.errors import LeaseError
from tests.fakes.services import PostgreSql

pytestmark = pytest.mark.postgresql

ROOT = Path(__file__).parents[3]
LEASE_S = 1.0
SPENDER = """
import sys, time
from tasks.adapters.coordination.leases import Leases
from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.spend_postgres import joined_across
url, payer, usd, hold = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
with joined_across(Leases(url, lease_s=1.0), payer, Spent) as (ledger, already):
    meter = Meter("sweep s", Budget(usd=usd), already=already, shared=ledger)
    print("joined", flush=True)
    sys.stdin.readline()
    try:
        while True:
            with meter.admitted(CostBound(tokens=10, usd=0.02)) as place:
                place.sent()
                print("sent", flush=True)
                time.sleep(hold)
                place.answered(Reply(text="", usage=Usage(prompt=5, completion=5), cost_usd=0.01))
    except BudgetExhausted:
        print("answered", meter.spent.calls, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def leases(database: PostgreSql) -> Iterator[Leases]:
    made = Leases(database.url, lease_s=LEASE_S)
    yield made
    made.close()


def spender(database: PostgreSql, payer: str, usd: float, hold: float) -> subprocess.Popen[str]:
    """A process that has joined, and spends when it is told to."""
    argv = [sys.executable, "-c", SPENDER, database.url, payer, str(usd), str(hold)]
    process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "joined\n"
    return process


def test_two_at_once_spend_what_one_may(database: PostgreSql) -> None:
    both = [spender(database, "both", 0.2, 0.002) for _ in range(2)]
    for one in both:
        assert one.stdin
        one.stdin.write("\n")
        one.stdin.flush()
    told = [one.communicate("\n")[0] for one in both]
    assert sum(int(text.split()[-1]) for text in told) == 19, "the last cent is less than a call may take"


def test_what_a_killed_one_had_set_aside_is_spent(database: PostgreSql, leases: Leases) -> None:
    with joined_across(leases, "killed", Spent) as (ledger, already):
        meter = Meter("sweep s", Budget(usd=0.05), already=already, shared=ledger)
        killed = spender(database, "killed", 0.05, hold=600)
        assert killed.stdin
        assert killed.stdout
        killed.stdin.write("\n")
        killed.stdin.flush()
        assert killed.stdout.readline() == "sent\n"
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        with meter.admitted(CostBound(tokens=10, usd=0.03)) as place:
            place.sent()
        with (
            pytest.raises(BudgetExhausted, match=r"has used 0\.05 of 0\.05 usd"),
            meter.admitted(CostBound(tokens=1, usd=0.01)),
        ):
            pass
    with joined_across(leases, "killed", lambda: Spent(usd=0.01)) as (ledger, already), ledger.turn() as (others, _):
        assert (already.usd, others.spent.usd) == (0.01, 0.0), "what the dead had is in the store by now"


@pytest.mark.slow
def test_a_turn_whose_database_goes_sets_nothing_aside(database: PostgreSql, leases: Leases) -> None:
    with joined_across(leases, "gone", Spent) as (ledger, already):
        with pytest.raises(LeaseError):
            _cut_off(database, ledger)
        database.start()
        meter = Meter("sweep s", Budget(usd=0.05), already=already, shared=ledger)
        with meter.admitted(CostBound(tokens=10, usd=0.03)) as place:
            place.sent()


def _cut_off(database: PostgreSql, ledger: SharedLedger) -> None:
    with ledger.turn() as (_, say):
        say(Spent(), ReservedSpend(calls=1, usd=0.05))
        database.stop(signal.SIGQUIT)
