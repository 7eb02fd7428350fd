"""Two processes that pay for the same pass no ceiling together, whenever one of them is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.limits.spend_sqlite import joined

ROOT = Path(__file__).parents[3]
SPENDER = """
import sys, time
from pathlib import Path
from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.spend_sqlite import joined
folder, usd, hold = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
with joined(folder, Spent) as (ledger, already):
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


def spender(folder: Path, usd: float, hold: float = 0.002) -> subprocess.Popen[str]:
    """A process that has joined, and spends when it is told to."""
    argv = [sys.executable, "-c", SPENDER, str(folder), str(usd), str(hold)]
    process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "joined\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def answered(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    return next(int(line.split()[1]) for line in process.stdout if line.startswith("answered"))


def test_two_at_once_spend_what_one_may(tmp_path: Path) -> None:
    both = [spender(tmp_path, 0.5) for _ in range(2)]
    for one in both:
        go(one)
    numbers = [answered(one) for one in both]
    for one in both:
        one.communicate("\n")
    assert sum(numbers) == 49, "the last cent is less than a call may take"


def test_what_a_killed_one_had_set_aside_is_spent(tmp_path: Path) -> None:
    with joined(tmp_path, Spent) as (ledger, already):
        meter = Meter("sweep s", Budget(usd=0.05), already=already, shared=ledger)
        killed = spender(tmp_path, 0.05, hold=600)
        go(killed)
        assert killed.stdout
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
    with joined(tmp_path, lambda: Spent(usd=0.01)) as (ledger, already):
        assert already == Spent(usd=0.01)
        with ledger.turn() as (others, _):
            assert others.spent == Spent(), "nobody is alive, so the store knows all"


def test_who_joins_later_knows_what_the_store_knew(tmp_path: Path) -> None:
    first = spender(tmp_path, 0.05)
    go(first)
    number = answered(first)
    known = Spent(calls=number, usd=number * 0.01, tokens=number * 10)
    with joined(tmp_path, lambda: known) as (ledger, already), ledger.turn() as (others, _):
        assert (already, others.spent.calls, others.held.calls) == (known, 0, 0)
    first.communicate("\n")
