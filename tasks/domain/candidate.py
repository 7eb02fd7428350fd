"""Candidates of methods, and the parts that are executed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import (
    CandidateId,
    InstanceId,
    InstanceKey,
    MethodName,
    ModelName,
    RepoPath,
    SnapshotName,
    SuiteId,
    content_key,
)
from tasks.domain.outcome import Policy, SuiteKind
from tasks.domain.table import table


@table("snapshot", "candidate_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One proposed test patch, exactly as the method submitted it."""

    candidate_id: CandidateId
    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    method: MethodName
    """`golden`, `nop`, or the name in the predictions file (`model_name_or_path`)."""
    model: ModelName | None
    """The model of the method, if the source states it separately from the method."""
    sample: int
    """0-based index among the samples of one method for one instance."""
    patch: str
    """Raw; undecodable bytes are stored as surrogate escapes written `\\udcXX`."""
    provenance: str
    """`oracle` (golden), `verified` (generated here), `self_reported` (a predictions file)."""
    source: str
    """Base name of the predictions file and line, `preds.jsonl:12`; the method's name otherwise."""
    problem: str
    """Why the row could not be used (for example a duplicate); empty otherwise."""
    created_at: datetime
    """When it was submitted or generated: of two candidates for one place the later counts."""
    made_at: datetime | None = None
    """When the method made it, if the predictions file states it; null otherwise."""

    @staticmethod
    def id_of(instance_key: str, method: str, model: str | None, sample: int, patch: str) -> CandidateId:
        return CandidateId(content_key("candidate", instance_key, method, model, sample, patch))


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A test patch as executed: candidates with equal effective patches share one suite, and so its runs."""

    suite_id: SuiteId
    instance_key: InstanceKey
    instance_id: InstanceId
    kind: SuiteKind
    """`golden` for the instance's own test patch, even if a method submitted it; else `candidate`."""
    patch: str
    """The applied patch: filtered, in normal form."""
    files: tuple[RepoPath, ...]
    """Test files that run; in a data-driven suite the cases that read the golden data, as `path::case` (`driven_case`).
    Empty if no test file is known."""
    files_key: str
    base_files: tuple[RepoPath, ...]
    """The files that exist at the base commit, on which suite `none` runs. Empty: nothing to run."""
    base_files_key: str

    @staticmethod
    def id_of(instance_key: str, patch: str) -> SuiteId:
        return SuiteId(content_key("suite", instance_key, patch))


@table("candidate_id", "policy")
@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A candidate under a patch filter: the resulting suite, or why there is none."""

    candidate_id: CandidateId
    instance_key: InstanceKey
    instance_id: InstanceId
    policy: Policy
    suite_id: SuiteId | None
    """Null if the candidate is not well-formed."""
    well_formed: bool
    reason: str
    """Slug of why it is not well-formed: `empty`, `no-diff`, `does-not-apply`, `climbing-path`, `nothing-left`,
    `no-test-file` …; empty if well-formed."""
    detail: str
    rung: str
    """Mode in which the patch applied: `exact`, `recount`, `reduced-context`, `fuzzy`; empty if it did not."""
    stripped: tuple[str, ...]
    """`path: rule` for every file that the patch filter removed."""
    judged_by: str = ""
    """Version of the code that judged it; another version judges it again."""


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class EditedDefinition:
    """A test definition that a suite edits in a file of the base commit; with the added cases these make T."""

    suite_id: SuiteId
    instance_key: InstanceKey
    path: RepoPath
    qualname: str
    """Joins with `case_outcome.qualname`."""
    why: str
    """`source` (its body or decorators), `class` (bases, attributes or set-up), `fixture`, `module` (its set-up),
    `data` (a file that it reads)."""
