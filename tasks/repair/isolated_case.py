"""What one test does where no other runs, and why that is something else than what it does among the others.

The debugger runs one test alone, so what it shows is only worth as much as the two are alike (the TDFlow paper left out
22 of 300 and 45 of 500 instances where they are not, appendix C). Here that is found out test by test, and a reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tasks.adapters.workbench.base import Workbench
from tasks.domain.outcome import RunStatus
from tasks.domain.repair import LoneReason
from tasks.repair.suite import CaseSeen, SuiteRun

_ERROR = re.compile(r"(?:\S+:\d+: )?([A-Za-z_][\w.]*)")
"""Name of the exception in the last line of a message, as pytest (behind path and line) and unittest have it."""
STARTED = (RunStatus.COMPLETED, RunStatus.CRASHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedResult:
    """One test alone, after a run in which it did not pass."""

    reason: LoneReason
    passed: bool
    """Whether it passes alone: then a debugger that runs it alone has nothing to show."""
    ended: str
    """How it ended alone: `passed`, the name of the exception, or how the run ended."""
    earlier: tuple[str, ...] = ()
    """The tests before it that make the difference, as few as were found."""
    runs: int = 0
    """That it took to find out."""

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @staticmethod
    def of_facts(facts: Mapping[str, Any]) -> IsolatedResult:
        reason, earlier = LoneReason(facts["reason"]), tuple(facts["earlier"])
        return IsolatedResult(**dict(facts) | {"reason": reason, "earlier": earlier})

    @property
    def said(self) -> str:
        """A paragraph on the difference; empty where there is none."""
        if self.reason is LoneReason.SAME:
            return ""
        how = "passes" if self.passed else f"ends otherwise ({self.ended})"
        return f"Run alone this test {how}: {self._why}."

    @property
    def _why(self) -> str:
        match self.reason:
            case LoneReason.EARLIER_CASE | LoneReason.EARLIER_CASES:
                return f"what it does among the others depends on {', '.join(self.earlier)}, which runs before it"
            case LoneReason.OTHER_FILES:
                return "to import the other test files makes the difference, none of their tests has to run"
            case LoneReason.FLIPS:
                return "it ends now in one way and now in another"
            case LoneReason.TIME_LIMIT:
                return "alone it ran into a limit"
            case LoneReason.NOT_FOUND:
                return "no test of that name runs by itself"
        return "it is not known why, all tests before it make no difference"


@dataclass(slots=True, kw_only=True)
class IsolationSearch:
    """The runs that find out. The bench stays as it is."""

    bench: Workbench
    files: Sequence[str]
    """Of the whole run."""
    case: CaseSeen
    """As it was in that run."""
    earlier: Sequence[CaseSeen]
    """What ran before it, in order."""
    _runs: int = field(default=0, init=False)

    def find_out(self) -> IsolatedResult:
        """Two runs for each halving of the tests before it at most; only one where there is no difference.

        Infrastructure errors of the bench pass through.
        """
        first = self._seen([self.case.path], ())
        reason, earlier = self._reason(first)
        passed = first == "passed"
        return IsolatedResult(reason=reason, passed=passed, ended=first, earlier=earlier, runs=self._runs)

    def _reason(self, first: str) -> tuple[LoneReason, tuple[str, ...]]:
        if first == how_it_ended(self.case):
            return LoneReason.SAME, ()
        if first == "":
            return LoneReason.NOT_FOUND, ()
        if first in (RunStatus.TIMEOUT.value, RunStatus.LIMIT.value):
            return LoneReason.TIME_LIMIT, ()
        if self._seen([self.case.path], ()) != first:
            return LoneReason.FLIPS, ()
        if self._as_before(()):
            return LoneReason.OTHER_FILES, ()
        names = tuple(case.case_id for case in self.earlier if case.collected and case.case_id != self.case.case_id)
        if not names or not self._as_before(names):
            return LoneReason.UNEXPLAINED, ()
        found = self._fewest(names)
        return (LoneReason.EARLIER_CASE if len(found) == 1 else LoneReason.EARLIER_CASES), found

    def _fewest(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Halves of the tests before it, the nearer half first, as long as one of them is enough."""
        while len(names) > 1:
            middle = len(names) // 2
            half = next((one for one in (names[middle:], names[:middle]) if self._as_before(one)), None)
            if half is None:
                break
            names = half
        return names

    def _as_before(self, names: tuple[str, ...]) -> bool:
        """Whether it ends as among all others, where of them only these run."""
        return self._seen(self.files, names) == how_it_ended(self.case)

    def _seen(self, files: Sequence[str], names: tuple[str, ...]) -> str:
        self._runs += 1
        tested = self.bench.run_tests(files, (*names, self.case.case_id))
        run = SuiteRun.of(tested)
        found = next((case for case in run.cases if case.case_id == self.case.case_id), None)
        if found and tested.status in STARTED:
            return how_it_ended(found)
        return "" if tested.status in STARTED else tested.status.value


def how_it_ended(case: CaseSeen) -> str:
    """`passed`, or the name of the exception: two failures of different kinds are no equals."""
    if case.passed:
        return "passed"
    last = next((line for line in reversed(case.message.splitlines()) if line.strip()), "")
    named = _ERROR.match(last.strip())
    return named[1] if named else "failed"
