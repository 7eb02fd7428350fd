"""Determines the stability of a suite's cases from its runs. No I/O; the runs are `Observed`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.domain.names import CaseId, EnvId, InstanceKey, RepoPath
from tasks.domain.outcome import FAILURES, CodeState, Outcome, RunStatus, RunVariant, SuiteKind
from tasks.domain.validation import CaseStability, Stability

TODAY = (RunVariant.PLAIN, RunVariant.RERUN, RunVariant.REORDERED, RunVariant.RESEEDED, RunVariant.REPEAT)
"""Conditions under which a stable case always has the same outcome."""

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCase:
    """The identity of a case, equal in all runs of a suite even if ids differ between processes."""

    case_id: CaseId
    path: RepoPath
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One run of one suite without an internal failure."""

    suite_kind: SuiteKind
    code_state: CodeState
    variant: RunVariant
    status: RunStatus
    outcomes: Mapping[CaseId, Outcome]

    def passed(self, case: SeenCase) -> bool:
        """Whether the case passed. A case that is missing in the run did not pass."""
        return self.outcomes.get(case.case_id) is Outcome.PASSED

    def failed(self, case: SeenCase) -> bool:
        """Whether the case failed, as in the grader `paper`. Cases that the session did not reach, or whose module was
        not collected, count as failed."""
        if (outcome := self.outcomes.get(case.case_id)) is not None:
            return outcome in FAILURES
        return self.status is not RunStatus.COMPLETED or self.outcomes.get(CaseId(case.path)) is Outcome.ERROR


@dataclass(frozen=True, slots=True)
class Sides:
    """The outcomes of one case, run by run."""

    case: SeenCase
    runs: tuple[Observed, ...]

    def passes(self, state: CodeState, *variants: RunVariant) -> tuple[bool, ...]:
        return tuple(run.passed(self.case) for run in self._of(state, variants or TODAY))

    def fails(self, state: CodeState) -> bool:
        """Whether the case fails in every run under the conditions of `TODAY`."""
        return all(run.failed(self.case) for run in self._of(state, TODAY))

    def _of(self, state: CodeState, variants: Sequence[RunVariant]) -> Iterable[Observed]:
        return (run for run in self.runs if run.code_state is state and run.variant in variants)

    def same(self, *variants: RunVariant) -> bool:
        """Whether the runs of each code state agree under these conditions."""
        return all(len(set(self.passes(state, *variants))) <= 1 for state in CodeState)


Sign = tuple[Stability, Callable[[Sides], bool]]

SIGNS: tuple[Sign, ...] = (
    (Stability.FLAKY, lambda sides: not sides.same(RunVariant.PLAIN, RunVariant.RERUN)),
    (Stability.ORDER, lambda sides: not sides.same(RunVariant.PLAIN, RunVariant.RERUN, RunVariant.REORDERED)),
    (Stability.SEED, lambda sides: not sides.same(RunVariant.PLAIN, RunVariant.RERUN, RunVariant.RESEEDED)),
    (Stability.ORDER, lambda sides: not sides.same(RunVariant.PLAIN, RunVariant.RERUN, RunVariant.REPEAT)),
    (Stability.NEEDS_NETWORK, lambda sides: _only_with_network(sides)),
    (Stability.TIME_BOMB, lambda sides: _only_today(sides)),
)
"""Kinds of instability; a case gets the first that applies.

A repeat has reversed order and another seed. If the other seed alone changes nothing, the order is the cause.
"""


def stability(case: SeenCase, runs: Sequence[Observed]) -> Stability:
    """Returns the stability of `case` over `runs` of one suite. Each code state needs at least one run."""
    sides = Sides(case, tuple(runs))
    for name, holds in SIGNS:
        if holds(sides):
            return name
    before, after = all(sides.passes(CodeState.BEFORE)), all(sides.passes(CodeState.AFTER))
    if after and not before and not sides.fails(CodeState.BEFORE):
        return Stability.NONE_TO_PASS
    return Stability(f"{'pass' if before else 'fail'}_to_{'pass' if after else 'fail'}")


def case_rows(
    instance_key: InstanceKey, env_id: EnvId, cases: Iterable[SeenCase], runs: Sequence[Observed]
) -> tuple[CaseStability, ...]:
    """Returns one row per case of one suite."""
    return tuple(_row(instance_key, env_id, case, runs) for case in cases)


@lru_cache(maxsize=4096)
def flake_upper(disagreeing: int, runs: int) -> float:
    """Returns the upper end of the Clopper-Pearson interval for `disagreeing` of `runs`; 1 if there are no runs."""
    from scipy.special import betaincinv  # the import takes 0.5 s; other commands should not wait for it

    if disagreeing >= runs:
        return 1.0
    return float(betaincinv(disagreeing + 1, runs - disagreeing, 1 - (1 - CONFIDENCE) / 2))


def disagreeing(passes: Sequence[bool]) -> int:
    """Returns the number of runs in the minority."""
    return min(Counter(passes).get(value, 0) for value in (True, False))


def _row(instance_key: InstanceKey, env_id: EnvId, case: SeenCase, runs: Sequence[Observed]) -> CaseStability:
    sides = Sides(case, tuple(runs))
    before, after = (sides.passes(state) for state in CodeState)
    worst = max((before, after), key=lambda passes: disagreeing(passes) / len(passes) if passes else 0.0)
    return CaseStability(
        instance_key=instance_key,
        env_id=env_id,
        suite_kind=runs[0].suite_kind,
        case_id=case.case_id,
        path=case.path,
        label=case.label,
        stability=stability(case, runs),
        before_runs=len(before),
        before_passed=sum(before),
        after_runs=len(after),
        after_passed=sum(after),
        flake_rate=disagreeing(worst) / len(worst) if worst else 0.0,
        flake_upper=flake_upper(disagreeing(worst), len(worst)),
    )


def _only_with_network(sides: Sides) -> bool:
    online = sides.passes(CodeState.AFTER, RunVariant.ONLINE)
    return bool(online) and all(online) and not any(sides.passes(CodeState.AFTER))


def _only_today(sides: Sides) -> bool:
    later = sides.passes(CodeState.AFTER, RunVariant.LATER)
    return bool(later) and not any(later) and all(sides.passes(CodeState.AFTER))
