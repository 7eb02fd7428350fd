"""The work of a method that led to a candidate, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import CandidateId, InstanceId, InstanceKey, MethodName, ModelName, SnapshotName, content_key
from tasks.domain.table import table


class Mode(StrEnum):
    """The kind of output that a method is asked for."""

    UNIT_TEST = "unit_test"
    """Tests in the repository's own suite."""
    REPRODUCTION_SCRIPT = "reproduction_script"
    """One script that fails as long as the issue exists; a test module that runs it is submitted."""


class Give(StrEnum):
    """One additional input of a method in an experiment, besides issue and retrieval (the paper's Table 5).

    The order is that of methods' labels.
    """

    TEST_FILE = "test-file"
    """The file of the base commit that the golden tests change most; instances without one are left out."""
    GOLDEN_PATCH = "golden-patch"
    INCORRECT_PATCH = "incorrect-patch"
    """A known-wrong fix; instances without one are left out."""
    MODIFIED_FILES = "modified-files"
    """The files that the patch changes, instead of retrieved ones."""


class GenerationStatus(StrEnum):
    """How the work of a method on an instance ended.

    `proposed`        a candidate with a patch
    `nothing`         a candidate without a patch: the method finished without a result
    `infrastructure`  provider, budget or machine failed: there is no candidate, and the method is not blamed
    """

    PROPOSED = "proposed"
    NOTHING = "nothing"
    INFRASTRUCTURE = "infrastructure"


@table("generation_id", folder="method", files=("trajectory",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One sample of one method for one instance."""

    generation_id: str
    """Content key of method, model, sample, instance, snapshot and settings."""
    method: MethodName
    model: ModelName
    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    config_key: str
    """Content key of the method's options; equal keys mean equal options."""
    mode: Mode
    given: tuple[str, ...]
    """Inputs of the method besides issue and retrieval: `test-file`, `golden-patch`, `incorrect-patch`,
    `modified-files`."""
    sample: int
    """0-based index among the samples of one method for one instance."""
    candidate_id: CandidateId | None
    """Null if there is none."""
    status: GenerationStatus
    path: tuple[str, ...]
    """Branches that the method took, in order: `asked`, `no-block`, `retry`, `applied` …"""
    retries: int
    """Number of repeated requests because of unusable replies."""
    rung: str
    """Mode in which the reply applied, of a patch or of an edit; empty if it did not."""
    reasons: tuple[str, ...]
    """Problems of replies, `slug: detail`; the error for `infrastructure`."""
    calls: int
    """Model replies that the method used."""
    seconds: float
    """From the start of the method to this candidate, including waiting for the model."""
    trajectory: str | None = None
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store: prompts, replies and commands of the
    method. The audit covers it up to this candidate. Null if there is none."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime
    variant: str = ""
    """The method with the parameters of the experiment, `libro[samples=10]`; empty in rows older than this column."""

    @staticmethod
    def id_of(instance_key: str, method: str, model: str, snapshot: str, config_key: str, sample: int) -> str:
        """Returns the key of the work, not of its result: repeating the work replaces the row."""
        return content_key("generation", instance_key, method, model, snapshot, config_key, sample)
