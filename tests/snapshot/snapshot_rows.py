"""Rows to publish: instances of one repository, told apart by their number."""

from __future__ import annotations

from datetime import UTC, datetime

from domain_rows import environment_row, stability_row, task_instance, validation_row

from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, RepoName
from tasks.domain.outcome import SuiteKind
from tasks.domain.validation import CaseStability, InvalidReason, Stability, Validation

REPO = RepoName("a/b")
ENV = EnvId("env")
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def instance(number: int, *, patch: str = "p", statement: str = "it breaks", snapshot: str = "pool") -> TaskInstance:
    return task_instance(
        repo=REPO,
        instance_id=InstanceId(f"a__b-{number}"),
        patch=patch,
        test_patch="t",
        problem_statement=statement,
        created_at=MARCH,
        snapshot=snapshot,
        instance_key=TaskInstance.key_of(REPO, str(number), patch, "t"),
    )


def validation(row: TaskInstance, reason: InvalidReason = InvalidReason.NONE, *, at: datetime = MARCH) -> Validation:
    return validation_row(row, reason, snapshot="pool", env_id=ENV, validated_at=at)


def case(key: InstanceKey, name: str, stability: Stability, kind: SuiteKind = SuiteKind.GOLDEN) -> CaseStability:
    return stability_row(
        instance_key=key, env_id=ENV, suite_kind=kind, case_id=CaseId(name), label=name, stability=stability
    )


def environment() -> Environment:
    return environment_row(env_id=ENV, repo=REPO, lock="x==1\n", built_at=MARCH)
