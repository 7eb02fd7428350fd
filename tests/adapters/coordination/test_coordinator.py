"""The interface of coordination, on both backends: who has what when processes run at once or die."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from coordination_bench import Backend, read_line, send_line

from tasks.adapters.coordination.interface import Transaction

HOLD = """
with coordinator.claim("work", wait=True) as claim:
    print("ready", flush=True)
    sys.stdin.readline()
    print(claim.confirmed(), flush=True)
"""
COUNT = """
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    with coordinator.transaction("counts") as table:
        row = table.get("total")
        table.put("total", {"number": row["number"] + 1})
"""


def test_threads_and_coordinators_claim_in_turns(backend: Backend) -> None:
    coordinators, inside = [backend.open() for _ in range(2)], [0]

    def work(number: int) -> int:
        with coordinators[number % 2].claim("turn", wait=True) as claim:
            assert claim
            assert claim.confirmed()
            inside[0] += 1
            time.sleep(0.002)
            seen = inside[0]
            inside[0] -= 1
            return seen

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(8))) == {1}


def test_a_claim_of_another_process_is_not_given(backend: Backend) -> None:
    mine = backend.open()
    other = backend.start(HOLD)
    with mine.claim("work", wait=False) as claim, mine.claim("something else", wait=False) as free:
        assert claim is None
        assert free
    with mine.transaction("any") as table:
        assert set(table.claimed(["work", "something else"])) == {"work"}
    send_line(other)
    assert read_line(other) == "True"
    assert other.wait() == 0
    with mine.claim("work", wait=False) as claim:
        assert claim


def test_the_claim_of_a_killed_process_ends(backend: Backend) -> None:
    mine = backend.open()
    other = backend.start(HOLD)
    other.send_signal(signal.SIGKILL)
    other.wait()
    with mine.claim("work", wait=True, patience_s=600) as claim:
        assert claim
    with mine.transaction("any") as table:
        assert set(table.claimed(["work"])) == set()


def test_a_claim_ends_with_an_error_inside(backend: Backend) -> None:
    mine = backend.open()
    with pytest.raises(ValueError, match="inside"), mine.claim("work", wait=True):
        raise ValueError("inside")
    with mine.claim("work", wait=False) as claim:
        assert claim


def test_rows_keep_their_order_and_all_their_digits(backend: Backend) -> None:
    mine, other = backend.open(), backend.open()
    number = 0.1 + 0.2
    with mine.transaction("one") as table:
        for key in ("b", "a", "c"):
            table.put(key, {"number": number, "text": "é\N{SNOWMAN}", "many": [1, None]})
        table.put("b", {"number": 1e-17})
        assert table.get("nothing") is None
    with other.transaction("one") as table:
        assert list(table.rows().items()) == [
            ("b", {"number": 1e-17}),
            ("a", {"number": number, "text": "é\N{SNOWMAN}", "many": [1, None]}),
            ("c", table.get("c")),
        ]
        table.delete(["b", "nothing"])
        table.delete([])
        table.put("b", {})
    with mine.transaction("one") as table:
        assert list(table.rows()) == ["a", "c", "b"]
    with mine.transaction("two") as table:
        assert (table.rows(), set(table.claimed([]))) == ({}, set())
        assert table.now == pytest.approx(time.time(), abs=5)


def test_a_transaction_is_all_or_nothing(backend: Backend) -> None:
    mine = backend.open()
    with pytest.raises(TypeError), mine.transaction("one") as table:
        _put_half(table)
    with mine.transaction("one") as table:
        assert table.rows() == {}


def _put_half(table: Transaction) -> None:
    table.put("half", {"number": 1})
    table.put("rest", {"number": object()})


@pytest.mark.slow
def test_transactions_of_many_processes_lose_nothing(backend: Backend) -> None:
    mine = backend.open()
    with mine.transaction("counts") as table:
        table.put("total", {"number": 0})
    others = [backend.start(COUNT) for _ in range(3)]
    for one in others:
        send_line(one)
    assert [one.wait() for one in others] == [0, 0, 0]
    with mine.transaction("counts") as table:
        assert table.get("total") == {"number": 60}
