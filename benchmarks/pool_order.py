"""What it costs to wait for units in the order in which they were handed out: nine units on two workers.

    python -m benchmarks.pool_order

The first unit takes eight times as long as each of the others. *In order*: the next unit is handed out when the oldest
one under way has ended, as our boards once did. *As they come*: `ThreadExecutor`. Units sleep, so that the seconds
are those of the waiting and nothing else.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.measured import machine, text_table
from flows.engine.units import TaskBatch, ThreadExecutor
from tasks.domain.names import InstanceId
from tasks.domain.undone import OfInstance

WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep(OfInstance):
    """A unit that takes so long."""

    seconds: float


def sleep(unit: Sleep) -> None:
    time.sleep(unit.seconds)


def in_order(units: Sequence[Sleep], at_once: int) -> None:
    """At most so many under way; the oldest is waited for."""
    with ThreadPoolExecutor(at_once) as pool:
        under_way = deque(pool.submit(sleep, unit) for unit in units[:at_once])
        for unit in units[at_once:]:
            under_way.popleft().result()
            under_way.append(pool.submit(sleep, unit))


def as_they_come(units: Sequence[Sleep], at_once: int) -> None:
    ThreadExecutor(at_once).work(TaskBatch(name="units", function=sleep, units=units), lambda place, result: None)  # noqa: ARG005


def main() -> None:
    lengths = (8.0, *[1.0] * 8)
    units = [
        Sleep(snapshot="s", instance_id=InstanceId(str(number)), seconds=seconds)
        for number, seconds in enumerate(lengths)
    ]
    rows = []
    for way in (in_order, as_they_come):
        begun = time.monotonic()
        way(units, WORKERS)
        rows.append((way.__name__.replace("_", " "), f"{time.monotonic() - begun:.1f}"))
    print(f"{len(units)} units of {sum(lengths):.0f} s on {WORKERS} workers; {machine()}")
    print(text_table(("way", "wall, s"), rows))


if __name__ == "__main__":
    main()
