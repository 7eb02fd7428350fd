"""Plans the runs that validate the golden tests of an instance: the same tests again, under other conditions.

The traced runs of the verdict are the first of each code state. All runs planned here are untraced and come on top. The
robustness checks of a golden success do not count here, since they run other code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tasks.adapters.runner.launch import other_seed
from tasks.domain.candidate import Suite
from tasks.domain.names import RepoPath
from tasks.domain.outcome import CaseOrder, CodeState, RunStatus, RunVariant, SandboxKind, SuiteKind, Tracer
from tasks.domain.run import Run, RunSpec, files_key
from tasks.evaluate.runs.plan import STATES, RunContext, run_spec, without_probes

YEAR = "+365d"
GOLDEN_MORE = 2
"""Additional runs of golden tests on each code state.

For tests that flip in one of twenty runs, seven runs after the fix detect 30 % and five detect 23 %.
"""
IN_A_MONTH = 1000
"""Above the number of runs of one kind in a month."""
HUNG = 2
"""Runs at the time limit that are as informative as ten: each takes the full limit."""
SAME = (RunVariant.PLAIN, RunVariant.RERUN, RunVariant.REORDERED, RunVariant.RESEEDED)
"""Conditions under which a run that hung once is expected to hang again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Number and conditions of the repeated runs of golden tests."""

    before: int = 3
    """Runs on `before`, including that of the verdict; at least 2, the second in random order. `GOLDEN_MORE` are added
    for golden tests."""
    after: int = 5
    """Runs on `after`, counted like `before`; at least 2."""
    more: int = 10
    """Further runs on each code state if the first ones disagree."""
    look: int = 5
    """Runs on `after` in one re-check of a published instance; at least 1."""
    faketime: str = ""
    """Path of libfaketime's library, for a run with a clock one year ahead; empty omits that run."""
    epoch: int = 0
    """Year and month of a re-check, such as `202611`: each month has its own runs."""


def validation_specs(bench: RunContext, suite: Suite, repeats: Repeats) -> tuple[RunSpec, ...]:
    """Returns runs of the golden suite, and of suite `none` on its base files, under every condition but the
    network."""
    ways = {CodeState.BEFORE: repeats.before, CodeState.AFTER: repeats.after}

    def runs(plain: RunSpec) -> int:
        return ways[plain.code_state] - 1 + (0 if plain.suite_kind is SuiteKind.NONE else GOLDEN_MORE)

    return tuple(spec for plain in _plain(bench, suite) for spec in _varied(plain, bench, repeats, runs(plain)))


def settling_specs(bench: RunContext, suite: Suite, repeats: Repeats) -> tuple[RunSpec, ...]:
    """Returns more runs under the same condition, to distinguish a rare flake from a frequent one."""
    first = max(repeats.before, repeats.after)
    return tuple(
        _again(plain, number) for plain in _plain(bench, suite) for number in range(first, first + repeats.more)
    )


def health_specs(bench: RunContext, suite: Suite, repeats: Repeats) -> tuple[RunSpec, ...]:
    """Returns the runs of this month's re-check: one before, several after, which a valid instance passes."""
    return _of_month(bench, suite, repeats, {CodeState.BEFORE: 1, CodeState.AFTER: repeats.look})


def second_look_specs(bench: RunContext, suite: Suite, repeats: Repeats) -> tuple[RunSpec, ...]:
    """Returns the runs that can reinstate a retired instance: as many runs of this month as a disagreement gets."""
    return _of_month(bench, suite, repeats, dict.fromkeys(CodeState, repeats.more))


def _of_month(bench: RunContext, suite: Suite, repeats: Repeats, runs: Mapping[CodeState, int]) -> tuple[RunSpec, ...]:
    plain = {state: _untraced(bench, suite, state, suite.files) for state in STATES}
    return tuple(
        _again(plain[state], repeats.epoch * IN_A_MONTH + number) for state in STATES for number in range(runs[state])
    )


def doubt_specs(bench: RunContext, suite: Suite) -> tuple[RunSpec, ...]:
    """Returns two runs after the fix with a network and two more without, to find out why the suite fails.

    One pass with a network is no proof: a flaky test passes now and then under any condition.
    """
    spec = _untraced(bench, suite, CodeState.AFTER, suite.files)
    online = replace(spec, variant=RunVariant.ONLINE, network=True)
    return online, replace(online, repeat=1), _again(spec, 1), _again(spec, 2)


def hangs(spec: RunSpec, runs: Iterable[Run]) -> bool:
    """Whether at least `HUNG` runs of the same suite and code ended at a time limit no shorter than that of `spec`."""
    ended = [run for run in runs if run.status is RunStatus.TIMEOUT and run.wall_s >= spec.limits.wall_s]
    return sum(run.variant in SAME and _side(run) == _side(spec) for run in ended) >= HUNG


def _side(run: Run | RunSpec) -> tuple[object, ...]:
    return run.env_id, run.runner_version, run.suite_kind, run.suite_id, run.code_state, files_key(run.files)


def _plain(bench: RunContext, suite: Suite) -> Iterator[RunSpec]:
    for state in STATES:
        yield _untraced(bench, suite, state, suite.files)
        if suite.base_files:
            yield _untraced(bench, None, state, suite.base_files)


def _untraced(bench: RunContext, suite: Suite | None, state: CodeState, files: tuple[RepoPath, ...]) -> RunSpec:
    """Returns a run without probes. Probes could cause differences between these runs and those of the verdict."""
    return without_probes(run_spec(bench, suite, state, files, Tracer.NONE))


def _varied(plain: RunSpec, bench: RunContext, repeats: Repeats, runs: int) -> Iterable[RunSpec]:
    """Returns `runs` runs: first the conditions, the most revealing ones first, then plain reruns."""
    conditions = [replace(plain, variant=RunVariant.REORDERED, order=CaseOrder.SHUFFLED)]
    conditions.append(_again(plain, 1))
    conditions.append(replace(plain, variant=RunVariant.RESEEDED, env=other_seed(plain.env, bench.environment.env)))
    if plain.code_state is CodeState.AFTER and repeats.faketime and bench.sandbox is not SandboxKind.DOCKER:
        conditions.append(replace(plain, variant=RunVariant.LATER, env=(*plain.env, *_a_year_on(repeats.faketime))))
    more = [_again(plain, number) for number in range(2, 2 + runs)]
    return (*conditions, *more)[:runs]


def _again(plain: RunSpec, number: int) -> RunSpec:
    return replace(plain, variant=RunVariant.RERUN, repeat=number)


def _a_year_on(faketime: str) -> tuple[str, ...]:
    """Shifts wall clocks only: a program that waits for a monotonic clock runs as before."""
    return f"LD_PRELOAD={faketime}", f"FAKETIME={YEAR}", "FAKETIME_DONT_FAKE_MONOTONIC=1"
