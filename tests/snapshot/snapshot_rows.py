"""Rows to publish: instances of one repository, told apart by their number."""

from __future__ import annotations

from datetime import UTC, datetime

from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, RepoName, RepoPath, Sha
from tasks.domain.outcome import RunnerKind, SuiteKind
from tasks.domain.validation import CaseStability, Reason, Stability, Validation

REPO = RepoName("a/b")
ENV = EnvId("env")
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def instance(number: int, *, patch: str = "p", statement: str = "it breaks", snapshot: str = "pool") -> TaskInstance:
    return TaskInstance(
        repo=REPO,
        instance_id=InstanceId(f"a__b-{number}"),
        base_commit=Sha("0" * 40),
        patch=patch,
        test_patch="t",
        problem_statement=statement,
        hints_text="",
        created_at=MARCH,
        version=None,
        FAIL_TO_PASS=None,
        PASS_TO_PASS=None,
        environment_setup_commit=None,
        snapshot=snapshot,
        instance_key=TaskInstance.key_of(REPO, str(number), patch, "t"),
        source="pull requests",
    )


def validation(row: TaskInstance, reason: Reason = Reason.NONE, *, at: datetime = MARCH) -> Validation:
    return Validation(
        instance_key=row.instance_key,
        instance_id=row.instance_id,
        snapshot="pool",
        env_id=ENV,
        valid=reason is Reason.NONE,
        reason=reason,
        detail="",
        fail_to_pass=1,
        pass_to_pass=1,
        quarantined=0,
        runs=8,
        cpu_s=1.0,
        validated_at=at,
    )


def case(key: InstanceKey, name: str, stability: Stability, kind: SuiteKind = SuiteKind.GOLDEN) -> CaseStability:
    return CaseStability(
        instance_key=key,
        env_id=ENV,
        suite_kind=kind,
        case_id=CaseId(name),
        path=RepoPath("tests/test_b.py"),
        label=name,
        stability=stability,
        before_runs=3,
        before_passed=0,
        after_runs=5,
        after_passed=5,
        flake_rate=0.0,
        flake_upper=0.5,
    )


def environment() -> Environment:
    return Environment(
        env_id=ENV,
        repo=REPO,
        python="3.11",
        python_full="3.11.7",
        lock="x==1\n",
        install=(),
        exclude_newer=None,
        runner=RunnerKind.PYTEST,
        test_args=(),
        env=(),
        source_roots=("",),
        recipe="inferred",
        built_at=MARCH,
        build_seconds=1.0,
    )
