"""Findings of audits: pointers in an issue's text, leaks in a checkout, lint of tests, steps of a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import CandidateId, EnvId, InstanceId, InstanceKey, LineNo, RepoPath, Sha, SnapshotName, SuiteId
from tasks.domain.table import table


@table("snapshot", "instance_id", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One place of an issue's text that points at the fix, or may."""

    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    rule: str
    """`pull-url`, `commit-url`, `compare-url`, `patch-file`, `later-url`, `pull-number`, `later-commit`, `fixed-by`,
    `quoted-patch`."""
    line: int
    """1-based line of the text as it was."""
    text: str
    """What stood there, at most 300 characters."""
    removed: bool
    """Whether methods see a placeholder instead. A quoted patch is the reporter's own words: told, and left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Something in a checkout or an environment that a method must not see."""

    where: str
    """`git`, `files` or `environment`."""
    rule: str
    """Slug of what was looked for: `ref`, `tag`, `reflog`, `alternate`, `object`, `fix`, `project-release` …"""
    path: str
    """File, ref or object concerned."""
    detail: str
    blocking: bool = True
    """Whether no method may start. Copies that a tool carries for itself are told, and do not block."""


@table("audit_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class LeakAudit:
    """One look at what a method is about to be given. The latest of an instance and environment counts."""

    audit_id: str
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    base_commit: Sha
    commits: int
    """`git rev-list --all --count` in the checkout; equals that of the base commit, or there is a leak."""
    objects: int
    """Objects in the checkout's repository; every one is reachable from the base commit, or there is a leak."""
    leaks: int
    blocked: bool
    """Whether the method was refused its start."""
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
    """One place in the code that a suite adds that a reader should look at. A finding decides nothing.

    `sql/views/lint_policy.sql` has the rules that honest tests seldom break.
    """

    suite_id: SuiteId
    instance_key: InstanceKey
    path: RepoPath
    line: LineNo
    """In the file as the suite leaves it; 0 where the file as a whole is meant."""
    rule: str
    detail: str
    """The code concerned, at most 200 characters."""


@table("candidate_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryAudit:
    """One step of a method that read what it should not see. A finding is a note for a reader."""

    candidate_id: CandidateId
    instance_key: InstanceKey
    instance_id: InstanceId
    step: int
    """0-based position in the trajectory."""
    rule: str
    detail: str
    """What stands there, at most 300 characters."""
