"""Findings of audits: pointers in an issue's text, leaks in a checkout, lint of tests, steps of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import CandidateId, EnvId, InstanceId, InstanceKey, LineNo, RepoPath, Sha, SnapshotName, SuiteId
from tasks.domain.table import table


@table("snapshot", "instance_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One place of an issue's text that refers, or may refer, to the fix."""

    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    rule: str
    """`pull-url`, `commit-url`, `compare-url`, `patch-file`, `later-url`, `pull-number`, `later-commit`, `fixed-by`,
    `quoted-patch`."""
    line: int
    """1-based line of the original text."""
    text: str
    """The original text of the place, at most 300 characters."""
    removed: bool
    """Whether methods see a placeholder instead. A quoted patch is the reporter's own text: it is recorded but
    stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Content of a checkout or an environment that a method must not see."""

    where: str
    """`git`, `files` or `environment`."""
    rule: str
    """Slug of the check: `ref`, `tag`, `reflog`, `alternate`, `object`, `fix`, `project-release` …"""
    path: str
    """The affected file, ref or object."""
    detail: str
    blocking: bool = True
    """Whether methods must not start. A tool's own copies of the project are recorded but do not block."""


@table("audit_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class LeakAudit:
    """One leak check of a method's inputs. The latest one of an instance and environment counts."""

    audit_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    base_commit: Sha
    commits: int
    """`git rev-list --all --count` in the checkout; any other count than the base commit's is a leak."""
    objects: int
    """Objects in the checkout's repository; an object that is unreachable from the base commit is a leak."""
    leaks: int
    blocked: bool
    """Whether the method was prevented from starting."""
    seconds: float
    audited_at: datetime


@table("audit_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """One finding of a leak audit."""

    audit_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    where: str
    """`git`, `files` or `environment`."""
    rule: str
    path: str
    detail: str
    blocking: bool


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One place in the code that a suite adds which a reader should examine. A finding changes no verdict.

    `sql/views/lint_policy.sql` has the rules that honest tests seldom violate.
    """

    suite_id: SuiteId
    instance_key: InstanceKey
    path: RepoPath
    line: LineNo
    """In the suite's version of the file; 0 for the whole file."""
    rule: str
    detail: str
    """The affected code, at most 200 characters."""


@table("candidate_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryAudit:
    """One step in which a method read forbidden content. A finding is a note for a reader."""

    candidate_id: CandidateId
    instance_key: InstanceKey
    instance_id: InstanceId
    step: int
    """0-based position in the trajectory."""
    rule: str
    detail: str
    """The content of the step, at most 300 characters."""
