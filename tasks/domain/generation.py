"""What a method did to come to a candidate, or why it came to none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import CandidateId, InstanceId, InstanceKey, MethodName, ModelName, SnapshotName, content_key
from tasks.domain.table import table


class Mode(StrEnum):
    """What a method is asked for."""

    UNIT_TEST = "unit_test"
    """Tests in the repository's own suite."""
    REPRODUCTION_SCRIPT = "reproduction_script"
    """One script that fails as long as the issue is there; it is handed in as a test module that runs it."""


class Give(StrEnum):
    """One thing that an experiment tells a method beyond issue and retrieval (the paper's Table 5). In the order in
    which methods' labels name them."""

    TEST_FILE = "test-file"
    """The file of the base commit that the golden tests change most; instances without one are left out."""
    GOLDEN_PATCH = "golden-patch"
    INCORRECT_PATCH = "incorrect-patch"
    """A fix that is known to be wrong; instances without one are left out."""
    MODIFIED_FILES = "modified-files"
    """The files that the patch changes, instead of retrieved ones."""


class GenerationStatus(StrEnum):
    """How the work of a method on an instance ended.

    `proposed`        a candidate with a patch
    `nothing`         a candidate without one: the method came to its end with nothing to hand in
    `infrastructure`  provider, budget or machine failed: no candidate, and nobody's failure
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
    """Content key of the options that the method was given: equal keys ask for the same."""
    mode: Mode
    given: tuple[str, ...]
    """What the method was told beyond issue and retrieval: `test-file`, `golden-patch`, `incorrect-patch`,
    `modified-files`."""
    sample: int
    """0-based index among the samples of one method for one instance."""
    candidate_id: CandidateId | None
    """Null where there is none."""
    status: GenerationStatus
    path: tuple[str, ...]
    """Branches that the method took, in order: `asked`, `no-block`, `retry`, `applied` …"""
    retries: int
    """How often it asked again because of what came back."""
    rung: str
    """How the answer applied: a rung of a patch or a match of an edit; empty where nothing did."""
    reasons: tuple[str, ...]
    """What was wrong with answers, `slug: detail`; the error for `infrastructure`."""
    calls: int
    """Replies of the model that the method used."""
    seconds: float
    """From the start of the method to this candidate, waiting for the model included."""
    trajectory: str | None = None
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store: what the method was told, answered and
    ran. The audit has read it up to this candidate. Null where there is none."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime
    variant: str = ""
    """The method with the parameters of the experiment, `libro[samples=10]`; empty for rows from before there were
    any."""

    @staticmethod
    def id_of(instance_key: str, method: str, model: str, snapshot: str, config_key: str, sample: int) -> str:
        """Of the work, not of its result: doing it again replaces the row."""
        return content_key("generation", instance_key, method, model, snapshot, config_key, sample)
