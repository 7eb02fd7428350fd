"""Results of repeated runs of an instance and its test cases under varied conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, RepoPath, SnapshotName
from tasks.domain.outcome import CodeState, SuiteKind
from tasks.domain.repair import LoneReason
from tasks.domain.table import table


class InvalidReason(StrEnum):
    """Why an instance is not valid. The empty value means that it is valid."""

    NONE = ""
    NO_F2P = "no_f2p"
    """No case of the golden tests fails before and passes after the fix."""
    GOLDEN_FAILS = "golden_fails"
    """Some case that the golden tests add or change fails on the fixed code, or is missing there."""
    SKIPPED = "skipped"
    """No such case goes from failing to passing, and the cases that do not pass are skipped. The environment lacks a
    dependency, so the result says nothing about the instance."""
    FLAKY = "flaky"
    """Such cases exist, but none of them is stable."""
    NO_TESTS = "no_tests"
    """The runner collects no case of the golden tests, and no case of the suite reads the files that they change."""
    INSTALL_ERROR = "install_error"
    """No plan gave an environment. The result says nothing about the instance, which is retried."""
    RUNTIME_ERROR = "runtime_error"
    """The test process crashed or reached a limit on the fixed code, or nothing could be imported; retried likewise."""
    TIMEOUT = "timeout"
    NEEDS_NETWORK = "needs_network"
    """Cases that fail after the fix pass with a network."""
    TIME_BOMB = "time_bomb"
    """Cases that pass after the fix fail with the clock a year ahead."""
    LEAK = "leak"
    """The checkout or the environment contains code from after the base commit."""
    INFRASTRUCTURE = "infrastructure"
    """An internal failure. The instance is retried, and not published."""


class Stability(StrEnum):
    """The behaviour of a case over all runs. Only the first five are stable."""

    FAIL_TO_PASS = "fail_to_pass"  # noqa: S105 - not a password
    """Before the fix it fails as in the grader `paper`: failed, error, timeout, or its module cannot be collected."""
    NONE_TO_PASS = "none_to_pass"  # noqa: S105 - not a password
    """It passes after the fix; before, it is skipped, expected to fail or missing: no evidence, in no list."""
    PASS_TO_PASS = "pass_to_pass"  # noqa: S105 - not a password
    FAIL_TO_FAIL = "fail_to_fail"
    PASS_TO_FAIL = "pass_to_fail"  # noqa: S105 - not a password
    FLAKY = "flaky"
    """Runs under equal conditions disagree."""
    ORDER = "order"
    """The result depends on the order of the cases."""
    SEED = "seed"
    """The result depends on the hash seed."""
    TIME_BOMB = "time_bomb"
    """It passes today and fails with the clock a year ahead."""
    NEEDS_NETWORK = "needs_network"
    """It passes only with a network."""


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
    """Runs on `before` with the current clock and without a network; those without the case count as not passed."""
    before_passed: int
    after_runs: int
    after_passed: int
    flake_rate: float
    """Share of runs that disagree with the majority of their code state; the larger of both states."""
    flake_upper: float
    """Upper end of the 95 % Clopper-Pearson interval of that share: greater than 0 for any number of runs."""


@table("snapshot", "instance_key", "validated_at", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The result of one validation of an instance. The latest one counts; the earlier ones are its health record."""

    instance_key: InstanceKey
    instance_id: InstanceId
    snapshot: SnapshotName
    env_id: EnvId | None
    """Null if there is no environment."""
    valid: bool
    """Whether the instance can be used."""
    reason: InvalidReason
    detail: str
    """Description of the reason."""
    fail_to_pass: int
    """Number of stable golden cases that go from failing to passing."""
    pass_to_pass: int
    """Number of stable golden cases that pass in both states."""
    quarantined: int
    """Number of unstable cases."""
    runs: int
    """Number of runs used."""
    cpu_s: float
    """CPU seconds of these runs."""
    validated_at: datetime
    """When it was judged."""


@table("snapshot", "instance_key", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class MonthTurn:
    """An instance selected in a month. The selection is made once: a rebuild that was killed resumes with it."""

    snapshot: SnapshotName
    """The month's snapshot, published or not."""
    instance_key: InstanceKey
    instance_id: InstanceId
    look: bool
    """Whether it is a re-check; otherwise it is a full validation."""
    chosen_at: datetime
    """Time of the selection, before any work on the instance."""


@table("instance_key", "env_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCaseAlone:
    """A golden case that goes from failing to passing, run alone: the view that a debugger has of it."""

    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    case_id: CaseId
    code_state: CodeState
    """A case that cannot be collected on the code before the fix has a row for the fixed code only."""
    reason: LoneReason
    """Why it has another outcome alone than among the other golden tests; empty if it has the same."""
    among: str
    """Its result among the others: `passed`, or the name of the exception."""
    alone: str
    """Its result alone: `passed`, the name of the exception, or how the run ended; empty if it did not run."""
    earlier: tuple[CaseId, ...]
    """The smallest found set of earlier tests that make the difference."""
    runs: int
    """Number of runs for this search."""
    created_at: datetime
