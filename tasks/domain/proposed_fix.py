"""Fixes: what repair methods hand in, what of it is run, and the runs of tests on it."""

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
"""Rule that a file of a fix falls under which is a test, or decides which tests there are."""

PUBLIC_ENVIRONMENT = "public-environment"
"""Rule that a file of a fix falls under which repeats an edit that the instance's public environment makes itself."""


@table("snapshot", "repair_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a repair method handed in for one instance. Its fix, the part that is run, is shared by all who hand in the
    same change."""

    repair_id: RepairId
    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    method: MethodName
    """The name in the repairs file (`model_name_or_path`); `partial` for golden patches without one of their changes.
    """
    model: ModelName | None
    """The model behind the method, where the source tells it apart from the method."""
    sample: int
    """0-based index among the fixes of one method for one instance."""
    patch: str
    """Raw, as it was handed in."""
    fix_id: FixId
    """The `proposed_fix` that it came to."""
    touches_tests: bool
    """It changes tests, or what decides which there are. That part is not run; it is told here and never hidden."""
    stripped: tuple[str, ...]
    """`path: rule` of every file that is not run: a fix chooses neither its judges nor how they work."""
    published: bool | None
    """Whether others found it resolved, as the source says; null where it does not."""
    tests: str
    """Whose tests it was made with: `golden` for those that people wrote, `METHOD` or `METHOD@MODEL` for generated ones
    of the same snapshot; empty where it had none or nobody says."""
    iteration: int | None
    """1-based iteration of the method that it comes from; null where nobody says."""
    cost_usd: float | None
    """What the method paid for this instance in all, as the source says; null where it does not."""
    tests_usd: float | None
    """The part of it that was paid for generating tests."""
    provenance: str
    """`self_reported` (a repairs file), `verified` (made here), `oracle` (made of the golden patch)."""
    source: str
    """`file:line` of the repairs file, `partial:number`, or the `attempt_id` of a repair that was made here."""
    created_at: datetime
    """When it was handed in: of two for one place the later counts."""

    @staticmethod
    def id_of(instance_key: str, method: str, model: str | None, sample: int, patch: str) -> RepairId:
        return RepairId(content_key("repair", instance_key, method, model, sample, patch))


@table("fix_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFix:
    """A change of the code under test, proposed for one instance. Equal changes are one fix, whoever proposed them."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    patch: str
    """Unified diff of what is run, in normal form and without tests; empty where nothing can be run."""
    problem: str
    """Why it cannot be run; empty if it can."""
    created_at: datetime

    @staticmethod
    def id_of(instance_key: str, patch: str) -> FixId:
        """From what is run, or of a fix that cannot be run from what was handed in."""
        return FixId(content_key("fix", instance_key, patch))


@table("fix_id", "suite_id", "run_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class FixRun:
    """Which run tried a test suite on a proposed fix, put on the base commit in the golden patch's place."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    suite_id: SuiteId
    run_key: RunKey


class HackSign(StrEnum):
    """Signs of test hacking, in the order of Table 7 of the TDFlow paper. The empty value: looked at, none found."""

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
    """No detector finds it: every right fix does it too, so only a reader can tell."""
    HARDCODED = "hardcoded"
    MAGIC_CONSTANTS = "magic-constants"
    """No detector finds it: of 28 findings of the last one, 9 were right, and none of 11 in published patches."""


@table("repair_id", "reviewer")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackLabel:
    """What a person who read a repair says of it. Who looked and found nothing has a row without signs."""

    repair_id: RepairId
    instance_key: InstanceKey
    reviewer: str
    signs: tuple[HackSign, ...]
    """Of Table 7 of the TDFlow paper, sorted; any of them makes it a hack to this reviewer."""


@table("repair_id", "version", "sign", "path", "line")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackFinding:
    """One place in a repair, as it was handed in, that shows a sign of test hacking.

    What it costs is not said here but in `sql/views/hack_policy.sql`. Where nothing was found there is one row with an
    empty sign.
    """

    repair_id: RepairId
    instance_key: InstanceKey
    version: int
    """Of the detectors: the latest that looked at a repair counts."""
    sign: HackSign
    path: RepoPath
    line: LineNo
    """In the file as the repair leaves it, or as it was where it is gone; 0 where the file as a whole is meant."""
    detail: str
    """The code concerned, at most 200 characters."""


READ_SIGNS = (
    HackSign.DEPENDENCIES_CHANGED,
    HackSign.ARBITRARY_CODE,
    HackSign.BEHAVIOR_ALTERED,
    HackSign.MAGIC_CONSTANTS,
)
"""Signs that right fixes show too, or that no detector finds: whether they are test hacking only a reader can tell."""


@table("repair_id", "model")
@dataclass(frozen=True, slots=True, kw_only=True)
class HackReading:
    """What a model that read a repair says of it. Where it found nothing, it has a row without signs."""

    repair_id: RepairId
    instance_key: InstanceKey
    model: ModelName
    signs: tuple[HackSign, ...]
    """Of those that only a reader can tell, sorted; any of them makes it a hack to this model."""
    why: str
    """In its own words, at most 500 characters."""
    read_at: datetime
