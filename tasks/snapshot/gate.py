"""Whether what was collected and judged is enough for a month's name. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tasks.domain.undone import Undone


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of what was asked for was done."""

    what: str
    """`repositories` or `instances`."""
    done: int
    asked: int
    wanted: float
    """The share that has to be done, 0 to 1."""

    @property
    def enough(self) -> bool:
        return self.done >= self.wanted * self.asked

    def __str__(self) -> str:
        return f"{self.done} of {self.asked} {self.what} done, {self.wanted:.0%} wanted"


def coverage(what: str, asked: Iterable[str], undone: Iterable[Undone], wanted: float) -> Coverage:
    """What is undone for good (an environment that cannot be built) is an answer; what may pass is none."""
    names = set(asked)
    missing = {row.subject for row in undone if row.may_pass or row.error == "bug"} & names
    return Coverage(what=what, done=len(names) - len(missing), asked=len(names), wanted=wanted)


def answered(asked: Iterable[str], undone: Iterable[Undone], wanted: float) -> Coverage:
    """Repositories that were collected whole: one that is gone or refused for good was not."""
    names = set(asked)
    missing = {row.subject for row in undone} & names
    return Coverage(what="repositories", done=len(names) - len(missing), asked=len(names), wanted=wanted)
