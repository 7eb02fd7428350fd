"""The limiter of one provider."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from llm_bench import TestClock

from tasks.adapters.clock import SystemClock
from tasks.adapters.llm.limits.concurrency import ConcurrencyLimit


def test_never_more_in_flight() -> None:
    limiter, lock, here, most = ConcurrencyLimit(3), Lock(), 0, 0

    def call(_: int) -> None:
        nonlocal here, most
        with limiter.slot():
            with lock:
                here += 1
                most = max(most, here)
            SystemClock().sleep(0.005)
            with lock:
                here -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(call, range(40)))
    assert (here, most) == (0, 3)


def test_a_pause_is_everybodys() -> None:
    clock = TestClock()
    limiter = ConcurrencyLimit(2, clock=clock)
    limiter.pause(10)
    limiter.pause(5)
    with limiter.slot() as waited:
        assert waited == 10
    with limiter.slot() as waited:
        assert waited == 0
