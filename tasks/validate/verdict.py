"""Decides whether an instance is valid, and if not, why. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.domain.names import CaseId
from tasks.domain.outcome import CodeState, Outcome, RunStatus, SuiteKind
from tasks.domain.validation import CaseStability, InvalidReason, Stability
from tasks.validate.judge import TODAY, Observed

NAMED = 3
"""Maximum number of cases in a reason."""

STABLE = (
    Stability.FAIL_TO_PASS,
    Stability.NONE_TO_PASS,
    Stability.PASS_TO_PASS,
    Stability.FAIL_TO_FAIL,
    Stability.PASS_TO_FAIL,
)

OF_STATUS = {
    RunStatus.UNAPPLIED: InvalidReason.GOLDEN_FAILS,
    RunStatus.GOLDEN_UNAPPLIED: InvalidReason.GOLDEN_FAILS,
    RunStatus.TIMEOUT: InvalidReason.TIMEOUT,
    RunStatus.CRASHED: InvalidReason.RUNTIME_ERROR,
    RunStatus.LIMIT: InvalidReason.RUNTIME_ERROR,
}
"""Reason for invalidity, by the status of a golden run on the fixed code."""

OF_CASE = {
    Stability.NEEDS_NETWORK: InvalidReason.NEEDS_NETWORK,
    Stability.TIME_BOMB: InvalidReason.TIME_BOMB,
    Stability.FLAKY: InvalidReason.FLAKY,
    Stability.ORDER: InvalidReason.FLAKY,
    Stability.SEED: InvalidReason.FLAKY,
}
"""Reason for invalidity of an instance without a stable F2P case, by the stability of its cases."""

NO_CASES = ("no-cases", "golden-silent", "golden-empty")
"""The grader's reasons if the golden tests have no cases of their own, or none ran."""

OF_GRADER = {"fails-after": InvalidReason.GOLDEN_FAILS, "missing-after": InvalidReason.GOLDEN_FAILS}
"""Reasons of the grader `paper` against the golden tests; all others mean that no case goes from failing to passing."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The reason why an instance is invalid, or `NONE` if it is valid."""

    reason: InvalidReason
    detail: str = ""

    @property
    def valid(self) -> bool:
        return self.reason is InvalidReason.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenMiss:
    """Why the grader `paper` does not count the golden tests of an instance as solved."""

    reason: str
    """The grader's reason."""
    detail: str = ""
    """The cases that fail, are missing or do not pass on the fixed code, from `golden_miss`."""
    failing: Sequence[CaseId] = ()
    """Its own cases that fail or are missing on the fixed code."""
    skipped_only: bool = False
    """Whether all of its own cases that do not pass there are skipped."""

    @property
    def text(self) -> str:
        return f"paper: {self.reason}" + (f", {self.detail}" if self.detail else "")


UNMEASURED = GoldenMiss(reason="not-measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The inputs for the judgement of one instance."""

    runs: Sequence[Observed]
    cases: Sequence[CaseStability]
    """Cases of the golden suite."""
    golden: GoldenMiss | None = None
    """None if the golden tests are solved."""
    infrastructure: tuple[str, ...] = ()
    """Runs that are missing because of internal failures."""


def finding(evidence: Evidence) -> Judgement:
    """Returns the judgement for the first of these conditions that applies.

    1. A run had an internal failure.
    2. A process ended early.
    3. No case is F2P, and some case is unstable.
    4. The cases that do not pass are skipped.
    5. The golden tests have no cases of their own.
    6. No case is F2P.
    7. Cases fail on the fixed code only because they are unstable.
    8. The grader reports another reason.
    """
    if evidence.infrastructure:
        return Judgement(InvalidReason.INFRASTRUCTURE, evidence.infrastructure[0])
    if ended := _ended(evidence.runs):
        return ended
    kinds = [case.stability for case in evidence.cases]
    missed = evidence.golden
    if Stability.FAIL_TO_PASS not in kinds and (unstable := _unstable(evidence.cases)):
        return unstable
    if missed and missed.skipped_only:
        return Judgement(InvalidReason.SKIPPED, missed.text)
    if missed and (skipped := _all_skipped(evidence.runs)):
        return Judgement(InvalidReason.SKIPPED, f"all that was collected is skipped: {', '.join(skipped[:NAMED])}")
    if missed and missed.reason in NO_CASES:
        return Judgement(InvalidReason.NO_TESTS, missed.text)
    if Stability.FAIL_TO_PASS not in kinds:
        return Judgement(InvalidReason.NO_F2P, missed.text if missed else "")
    if missed and (unstable := _by_unstable(missed, evidence.cases)):
        return unstable
    if missed:
        return Judgement(OF_GRADER.get(missed.reason, InvalidReason.NO_F2P), missed.text)
    return Judgement(InvalidReason.NONE)


def quarantined(cases: Iterable[CaseStability]) -> tuple[CaseStability, ...]:
    """Returns the cases that no list of the instance may contain."""
    return tuple(case for case in cases if case.stability not in STABLE)


def _ended(runs: Iterable[Observed]) -> Judgement | None:
    fixed = _on_fixed_code(runs)
    today = [run for run in fixed if run.variant in TODAY]
    for run in today:
        if run.status in OF_STATUS:
            return Judgement(OF_STATUS[run.status], f"golden tests on the fixed code: {run.status}")
    if today and not any(_says_something(run) for run in fixed):
        return Judgement(InvalidReason.RUNTIME_ERROR, "golden tests on the fixed code: nothing but errors")
    return None


def _all_skipped(runs: Iterable[Observed]) -> tuple[CaseId, ...]:
    """Returns the cases if all are skipped on the fixed code. A module with a missing import counts as a case."""
    today = [run for run in _on_fixed_code(runs) if run.variant in TODAY]
    outcomes = {outcome for run in today for outcome in run.outcomes.values()}
    return tuple(today[0].outcomes) if outcomes == {Outcome.SKIPPED} else ()


def _on_fixed_code(runs: Iterable[Observed]) -> list[Observed]:
    """Returns the runs of the golden tests on the fixed code."""
    return [run for run in runs if run.suite_kind is SuiteKind.GOLDEN and run.code_state is CodeState.AFTER]


def _says_something(run: Observed) -> bool:
    """Whether any case has a result other than an error. If none has, the environment is the cause."""
    return any(outcome is not Outcome.ERROR for outcome in run.outcomes.values())


def _by_unstable(missed: GoldenMiss, cases: Sequence[CaseStability]) -> Judgement | None:
    """Returns the instability if only unstable cases fail: another run might have solved the golden tests."""
    unstable = {case.case_id: case for case in quarantined(cases)}
    if not missed.failing or not all(name in unstable for name in missed.failing):
        return None
    return _unstable([unstable[name] for name in missed.failing])


def _unstable(cases: Sequence[CaseStability]) -> Judgement | None:
    """Returns a judgement for the first kind of instability that any case has."""
    for kind, reason in OF_CASE.items():
        named = [case.case_id for case in cases if case.stability is kind]
        if named:
            return Judgement(reason, f"{kind}: {', '.join(named[:NAMED])}")
    return None
