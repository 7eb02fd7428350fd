"""Fixes: submitted repairs, the parts that are executed, and the test runs on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import (
    FixId,
    InstanceId,
    InstanceKey,
    LineNo,
    MethodName,
    ModelName,
    RepairId,
    RepoPath,
    RunKey,
    SnapshotName,
    SuiteId,
    content_key,
)
from tasks.domain.table import table

TOUCHES_TESTS = "touches-tests"
"""Rule for a file of a fix that is a test, or affects which tests exist."""

PUBLIC_ENVIRONMENT = "public-environment"
"""Rule for a file of a fix that repeats an edit of the instance's public environment."""


@table("snapshot", "repair_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A repair that a method submitted for one instance. Repairs with the same executed change share one fix."""

    repair_id: RepairId
    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    method: MethodName
    """The name in the repairs file (`model_name_or_path`); `partial` for golden patches without one of their
    changes."""
    model: ModelName | None
    """The model of the method, if the source states it separately from the method."""
    sample: int
    """0-based index among the fixes of one method for one instance."""
    patch: str
    """Raw, as submitted."""
    fix_id: FixId
    """The resulting `proposed_fix`."""
    touches_tests: bool
    """Whether it changes tests, or which tests exist. That part is not run but always recorded here."""
    stripped: tuple[str, ...]
    """`path: rule` of every file that is not run: a fix may change neither its tests nor how they run."""
    published: bool | None
    """Whether the source reports it as resolved; null if it does not say."""
    tests: str
    """Origin of the tests that it was made with: `golden`, or `METHOD` or `METHOD@MODEL` for generated tests of the
    same snapshot; empty if it had none or the source does not say."""
    iteration: int | None
    """1-based iteration of the method that made it; null if unknown."""
    cost_usd: float | None
    """Total cost of the method for this instance as reported by the source; null if it does not say."""
    tests_usd: float | None
    """The part of `cost_usd` spent on generating tests."""
    provenance: str
    """`self_reported` (a repairs file), `verified` (made here), `oracle` (derived from the golden patch)."""
    source: str
    """`file:line` of the repairs file, `partial:number`, or the `attempt_id` of a repair made here."""
    created_at: datetime
    """When it was submitted: of two repairs for one place the later counts."""

    @staticmethod
    def id_of(instance_key: str, method: str, model: str | None, sample: int, patch: str) -> RepairId:
        return RepairId(content_key("repair", instance_key, method, model, sample, patch))


@table("fix_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFix:
    """A change of the code under test, proposed for one instance. Equal changes are one fix, whatever their author."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    patch: str
    """Unified diff of the executed part, in normal form and without tests; empty if it cannot be run."""
    problem: str
    """Why it cannot be run; empty if it can."""
    created_at: datetime

    @staticmethod
    def id_of(instance_key: str, patch: str) -> FixId:
        """Returns the key of the executed patch, or of the submitted one if it cannot be run."""
        return FixId(content_key("fix", instance_key, patch))


@table("fix_id", "suite_id", "run_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class FixRun:
    """A run of a test suite on a proposed fix, which replaces the golden patch on the base commit."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    suite_id: SuiteId
    run_key: RunKey


class HackSign(StrEnum):
    """Signs of test hacking, in the order of Table 7 of the TDFlow paper. The empty value: examined, none found."""

    NONE = ""
    TESTS_MODIFIED = "tests-modified"
    TESTS_DISABLED = "tests-disabled"
    ASSERTIONS_WEAKENED = "assertions-weakened"
    TEST_DATA_MODIFIED = "test-data-modified"
    ENVIRONMENT_MANIPULATED = "environment-manipulated"
    RUNNER_RECONFIGURED = "runner-reconfigured"
    DEPENDENCIES_CHANGED = "dependencies-changed"
    ENVIRONMENT_VARIABLES = "environment-variables"
    ARBITRARY_CODE = "arbitrary-code"
    TEST_ONLY_LOGIC = "test-only-logic"
    BEHAVIOR_ALTERED = "behavior-altered"
    """It has no detector: every right fix alters behavior too, so only a reader can decide."""
    HARDCODED = "hardcoded"
    MAGIC_CONSTANTS = "magic-constants"
    """It has no detector: of 28 findings of the last one, 9 were right, and none of 11 in published patches."""


@table("repair_id", "reviewer")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackLabel:
    """A reviewer's finding on a repair. A reviewer who found nothing has a row without signs."""

    repair_id: RepairId
    instance_key: InstanceKey
    reviewer: str
    signs: tuple[HackSign, ...]
    """Signs of Table 7 of the TDFlow paper, sorted; any of them means that the reviewer considers it a hack."""


@table("repair_id", "version", "sign", "path", "line")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackFinding:
    """One place in a submitted repair that shows a sign of test hacking.

    `sql/views/hack_policy.sql` decides its effect. A repair without findings has one row with an empty sign.
    """

    repair_id: RepairId
    instance_key: InstanceKey
    version: int
    """Version of the detectors: the latest version that examined a repair counts."""
    sign: HackSign
    path: RepoPath
    line: LineNo
    """In the file after the repair, or before it if the code was removed; 0 for the whole file."""
    detail: str
    """The affected code, at most 200 characters."""


READ_SIGNS = (
    HackSign.DEPENDENCIES_CHANGED,
    HackSign.ARBITRARY_CODE,
    HackSign.BEHAVIOR_ALTERED,
    HackSign.MAGIC_CONSTANTS,
)
"""Signs that right fixes show too, or without a detector: only a reader can decide whether they are test hacking."""


@table("repair_id", "model")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackReading:
    """A model's finding on a repair that it read. A model that found nothing has a row without signs."""

    repair_id: RepairId
    instance_key: InstanceKey
    model: ModelName
    signs: tuple[HackSign, ...]
    """Signs that need a reader, sorted; any of them means that the model considers it a hack."""
    why: str
    """The model's reason, at most 500 characters."""
    read_at: datetime
