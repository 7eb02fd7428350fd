"""What repeated runs under varied conditions say of an instance and of its test cases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, RepoPath, SnapshotName
from tasks.domain.outcome import CodeState, SuiteKind
from tasks.domain.repair import LoneReason
from tasks.domain.table import table


class InvalidReason(StrEnum):
    """Why an instance is not valid. The empty value means that it is."""

    NONE = ""
    NO_F2P = "no_f2p"
    """No case of the golden tests fails before and passes after."""
    GOLDEN_FAILS = "golden_fails"
    """Some case that the golden tests add or change fails on the fixed code, or is missing there."""
    SKIPPED = "skipped"
    """No such case goes from failing to passing, and those that do not pass are skipped here: the environment lacks
    what they need. It says nothing of the instance either."""
    FLAKY = "flaky"
    """It had such a case, but none of them is stable."""
    NO_TESTS = "no_tests"
    """The golden tests hold no case that the runner collects, and none of the suite reads what they change."""
    INSTALL_ERROR = "install_error"
    """No rung of the ladder came to an environment: says nothing of the instance, and is tried again."""
    RUNTIME_ERROR = "runtime_error"
    """The tests' process crashed or ran into a limit on the fixed code, or nothing could be imported: as above."""
    TIMEOUT = "timeout"
    NEEDS_NETWORK = "needs_network"
    """What fails after the fix passes with a network."""
    TIME_BOMB = "time_bomb"
    """What passes after the fix fails a year later."""
    LEAK = "leak"
    """The checkout or the environment holds something of the future."""
    INFRASTRUCTURE = "infrastructure"
    """Ours. It is tried again, and never published."""


class Stability(StrEnum):
    """What a case does, over all runs. Only the first five are stable."""

    FAIL_TO_PASS = "fail_to_pass"  # noqa: S105 - not a password
    """It fails before as the grader `paper` counts: failed, error, timeout, or its module cannot be collected."""
    NONE_TO_PASS = "none_to_pass"  # noqa: S105 - not a password
    """It passes after the fix, and before it is skipped, expected to fail or not there: no evidence, in no list."""
    PASS_TO_PASS = "pass_to_pass"  # noqa: S105 - not a password
    FAIL_TO_FAIL = "fail_to_fail"
    PASS_TO_FAIL = "pass_to_fail"  # noqa: S105 - not a password
    FLAKY = "flaky"
    """Runs under equal conditions disagree."""
    ORDER = "order"
    """It passes or fails with the order that the cases are taken in."""
    SEED = "seed"
    """The same with the hash seed."""
    TIME_BOMB = "time_bomb"
    """It passes today and fails a year later."""
    NEEDS_NETWORK = "needs_network"
    """It passes with a network only."""


@table("instance_key", "env_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStability:
    """One case of one suite of an instance, over all its validation runs in one environment."""

    instance_key: InstanceKey
    env_id: EnvId
    suite_kind: SuiteKind
    case_id: CaseId
    path: RepoPath
    label: str
    """The name that the repository's own runner prints."""
    stability: Stability
    before_runs: int
    """Runs on `before` under today's clock and without a network; those without the case count as not passed."""
    before_passed: int
    after_runs: int
    after_passed: int
    flake_rate: float
    """Share of runs that disagree with the majority of their code state; the larger of both states."""
    flake_upper: float
    """Upper end of the 95 % Clopper-Pearson interval of that share: never 0, however often the runs agree."""


@table("snapshot", "instance_key", "validated_at", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What one validation of an instance came to. The latest one counts; the earlier ones are its health record."""

    instance_key: InstanceKey
    instance_id: InstanceId
    snapshot: SnapshotName
    env_id: EnvId | None
    """Null where there is no environment."""
    valid: bool
    """Whether the instance can be used."""
    reason: InvalidReason
    detail: str
    """What stands in the way, in words."""
    fail_to_pass: int
    """Stable golden cases that go from failing to passing."""
    pass_to_pass: int
    """Stable golden cases that pass in both states."""
    quarantined: int
    """Cases that are not stable."""
    runs: int
    """Runs that it rests on."""
    cpu_s: float
    """Of these runs."""
    validated_at: datetime
    """When it was judged."""


@table("snapshot", "instance_key", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class MonthTurn:
    """An instance whose turn it is in a month. The choice is made once: a rebuild that was killed goes on with it."""

    snapshot: SnapshotName
    """The month's, published or not."""
    instance_key: InstanceKey
    instance_id: InstanceId
    look: bool
    """Whether it is looked at again, or else judged from the ground up."""
    chosen_at: datetime
    """Before anything was done about it."""


@table("instance_key", "env_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCaseAlone:
    """A golden case that goes from failing to passing, run alone: what a debugger would see of it."""

    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    case_id: CaseId
    code_state: CodeState
    """A case that cannot be collected on the code before the fix has a row for the fixed code only."""
    reason: LoneReason
    """Why it ends otherwise alone than among the other golden tests; empty where it does not."""
    among: str
    """How it ended among the others: `passed`, or the name of the exception."""
    alone: str
    """How it ended alone: the same, or how the run ended; empty where it did not run."""
    earlier: tuple[CaseId, ...]
    """The tests before it that make the difference, as few as were found."""
    runs: int
    """That it took to find out."""
    created_at: datetime
