"""Which runs of an instance count when runners of several versions made them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tasks.domain.names import EnvId, InstanceId, InstanceKey, RepoName, RunKey
from tasks.domain.outcome import CodeState, RunStatus, SandboxKind, SuiteKind, Tracer
from tasks.domain.run import Run, current

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
RUN = Run(
    run_key=RunKey("a"),
    instance_key=InstanceKey("k"),
    instance_id=InstanceId("i"),
    repo=RepoName("a/b"),
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
    started_at=NOON,
    finished_at=NOON,
)


def made(key: str, version: str, minute: int, status: RunStatus = RunStatus.COMPLETED) -> Run:
    finished = NOON + timedelta(minutes=minute)
    return replace(RUN, run_key=RunKey(key), runner_version=version, finished_at=finished, status=status)


def keys(*runs: Run) -> list[str]:
    return [run.run_key for run in current(runs)]


def test_one_runner_is_current_whatever_it_is() -> None:
    assert keys() == []
    assert keys(made("a", "", 0), made("b", "", 1)) == ["a", "b"]


def test_a_newer_runner_supersedes_all_that_an_older_one_said() -> None:
    assert keys(made("a", "", 0), made("b", "new", 5), made("c", "", 1), made("d", "new", 2)) == ["b", "d"]


def test_failures_of_ours_supersede_nothing() -> None:
    assert keys(made("a", "old", 0), made("b", "new", 5, RunStatus.INFRASTRUCTURE)) == ["a"]
