"""Boards on which units fail as somebody says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flows.engine.units import Executor, Failure, Summary, TaskBatch, ThreadExecutor
from tasks.domain.errors import InfrastructureError
from tasks.domain.retrying import Retries
from tasks.domain.undone import Unit

U = TypeVar("U", bound=Unit)
R = TypeVar("R")
S = TypeVar("S", bound=Summary)
Fault = Callable[[str, Unit], BaseException | None]
"""What the unit of a round fails with, if anything."""

AT_ONCE = Retries(attempts=2, pause_s=0.0)


@dataclass(frozen=True)
class Faulty:
    """A board, with faults in the place of stage functions."""

    fault: Fault
    board: Executor = field(default_factory=lambda: ThreadExecutor(2, AT_ONCE))
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Round and subject of every unit, in the order of rounds."""
    made: list[int] = field(default_factory=list)
    """Runs of tests that each unit made which was done."""
    late: bool = False
    """Whether the fault comes when the stage function has done its work: it is in the store, and nobody was told."""

    def work(self, round_: TaskBatch[U, R], settled: Callable[[int, R | Failure], None]) -> None:
        self.asked.extend((round_.name, unit.subject) for unit in round_.units)

        def function(unit: U) -> R:
            if not self.late:
                self._fail(round_.name, unit)
            result = round_.function(unit)
            if self.late:
                self._fail(round_.name, unit)
            self.made.append(getattr(result, "executed", 0))
            return result

        faulty = TaskBatch(name=round_.name, function=function, units=round_.units, at_once=round_.at_once)
        self.board.work(faulty, settled)

    def _fail(self, name: str, unit: Unit) -> None:
        if error := self.fault(name, unit):
            raise error

    def run_subflow(self, story: str, title: str, parameters: Mapping[str, Any], body: Callable[[str], S]) -> S:
        return self.board.run_subflow(story, title, parameters, body)


def disk_full(*rounds: str) -> Fault:
    """Every unit of these rounds finds the disk full."""
    return lambda name, _: InfrastructureError("disk full") if name in rounds else None
