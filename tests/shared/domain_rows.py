"""Rows of no project in particular. A test names the columns that it is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tasks.domain.candidate import Candidate
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CandidateId, CaseId, EnvId, InstanceId, InstanceKey, RepoName, RepoPath, RunKey, Sha
from tasks.domain.outcome import CodeState, RunnerKind, RunStatus, SandboxKind, SuiteKind, Tracer
from tasks.domain.run import Run
from tasks.domain.validation import CaseStability, InvalidReason, Stability, Validation

SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
REPO = RepoName("owner/name")
NAME = InstanceId("owner__name-500")
KEY = InstanceKey("k")

_INSTANCE = TaskInstance(
    repo=REPO,
    instance_id=NAME,
    base_commit=Sha("0" * 40),
    patch="",
    test_patch="",
    problem_statement="",
    hints_text="",
    created_at=None,
    version=None,
    FAIL_TO_PASS=None,
    PASS_TO_PASS=None,
    environment_setup_commit=None,
    snapshot="s",
    instance_key=KEY,
    source="f",
)
_CANDIDATE = Candidate(
    candidate_id=CandidateId("c"),
    snapshot="s",
    instance_id=NAME,
    instance_key=KEY,
    method="m",
    model=None,
    sample=0,
    patch="",
    provenance="self_reported",
    source="p.jsonl:1",
    problem="",
    created_at=SOME_DAY,
)
_ENVIRONMENT = Environment(
    env_id=EnvId("e"),
    repo=REPO,
    python="3.11",
    python_full="3.11.7",
    lock="",
    install=(),
    exclude_newer=None,
    runner=RunnerKind.PYTEST,
    test_args=(),
    env=(),
    source_roots=("",),
    recipe="inferred",
    built_at=SOME_DAY,
    build_seconds=1.0,
)
_RUN = Run(
    run_key=RunKey("a"),
    instance_key=KEY,
    instance_id=NAME,
    repo=REPO,
    env_id=EnvId("e"),
    suite_kind=SuiteKind.NONE,
    suite_id=None,
    code_state=CodeState.BEFORE,
    files=(),
    files_key="",
    tracer=Tracer.NONE,
    repeat=0,
    sandbox=SandboxKind.PROCESS,
    status=RunStatus.COMPLETED,
    detail="",
    exit_code=0,
    wall_s=1.0,
    cpu_s=None,
    setup_s=0.0,
    cases=0,
    log="",
    project_commit="",
    project_dirty=False,
    project_version="",
    config_hash="",
    started_at=SOME_DAY,
    finished_at=SOME_DAY,
)
_STABILITY = CaseStability(
    instance_key=KEY,
    env_id=EnvId("e"),
    suite_kind=SuiteKind.GOLDEN,
    case_id=CaseId("a"),
    path=RepoPath("tests/test_b.py"),
    label="a",
    stability=Stability.FAIL_TO_PASS,
    before_runs=3,
    before_passed=0,
    after_runs=5,
    after_passed=5,
    flake_rate=0.0,
    flake_upper=0.5,
)


def task_instance(**columns: Any) -> TaskInstance:
    """Of `owner/name`, with nothing in it."""
    return replace(_INSTANCE, **columns)


def candidate_row(**columns: Any) -> Candidate:
    """For `task_instance()`, with an empty patch."""
    return replace(_CANDIDATE, **columns)


def environment_row(**columns: Any) -> Environment:
    """With pytest on Python 3.11 and nothing installed."""
    return replace(_ENVIRONMENT, **columns)


def run_row(**columns: Any) -> Run:
    """Of suite `none` on the base commit, completed, with no case."""
    return replace(_RUN, **columns)


def stability_row(**columns: Any) -> CaseStability:
    """A case of the golden suite that the fix mends."""
    return replace(_STABILITY, **columns)


def validation_row(instance: TaskInstance, reason: InvalidReason = InvalidReason.NONE, **columns: Any) -> Validation:
    """Of an instance that is valid where there is no reason against it."""
    row = Validation(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        snapshot=instance.snapshot,
        env_id=EnvId("e"),
        valid=reason is InvalidReason.NONE,
        reason=reason,
        detail="",
        fail_to_pass=1,
        pass_to_pass=1,
        quarantined=0,
        runs=8,
        cpu_s=1.0,
        validated_at=SOME_DAY,
    )
    return replace(row, **columns)


class NoHistory:
    """A history that tells nothing, so every pointer to a fix goes."""

    def holds(self, _sha: str) -> bool | None:
        return None

    def landed(self, _number: int) -> bool:
        return False
