"""One flaky look is not for good: a retired instance is judged by what it did since, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from domain_rows import run_row, task_instance, validation_row

from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Suite
from tasks.domain.names import CaseId, EnvId, RepoPath, RunKey, SuiteId
from tasks.domain.outcome import CodeState, Outcome, Phase, RunVariant, SuiteKind
from tasks.domain.places import Places
from tasks.domain.run import CaseOutcome, Run, files_key
from tasks.domain.validation import InvalidReason
from tasks.validate.task import ToJudge, judge_instances, retired_since

START = datetime(2026, 1, 1, tzinfo=UTC)
FILES = (RepoPath("tests/test_a.py"),)
ONE = task_instance()


def add_run(store: Store, name: str, state: CodeState, passes: bool, day: int) -> None:
    at = START + timedelta(days=day)
    run: Run = run_row(
        run_key=RunKey(name),
        instance_key=ONE.instance_key,
        instance_id=ONE.instance_id,
        repo=ONE.repo,
        env_id=EnvId("e"),
        suite_kind=SuiteKind.GOLDEN,
        suite_id=SuiteId("s"),
        files=FILES,
        files_key=files_key(FILES),
        code_state=state,
        variant=RunVariant.RERUN,
        started_at=at,
        finished_at=at,
    )
    row = CaseOutcome(
        run_key=run.run_key,
        case_id=CaseId("tests/test_a.py::test_a"),
        path=FILES[0],
        qualname="test_a",
        label="test_a",
        position=0,
        phase=Phase.CALL,
        outcome=Outcome.PASSED if passes else Outcome.FAILED,
        duration_s=0.0,
        message="",
    )
    store.write_run(run, [row])


def test_only_runs_since_it_was_retired_speak_for_it(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    places = Places(store=store.url, cache=tmp_path, recipes=tmp_path, scratch=tmp_path)
    suite = Suite(
        suite_id=SuiteId("s"),
        instance_key=ONE.instance_key,
        instance_id=ONE.instance_id,
        kind=SuiteKind.GOLDEN,
        patch="",
        files=FILES,
        files_key=files_key(FILES),
        base_files=(),
        base_files_key=files_key(()),
    )
    store.write([ONE])
    store.write([suite])
    store.write([validation_row(ONE, validated_at=START)])
    for number, passes in enumerate((True, True, False, True)):
        add_run(store, f"old{number}", CodeState.AFTER, passes, 30)
    add_run(store, "old", CodeState.BEFORE, False, 30)
    asked = ToJudge(instance_id=ONE.instance_id, env_id=EnvId("e"))
    (retired,) = judge_instances(places, ONE.snapshot, (asked,))
    assert retired.reason is InvalidReason.FLAKY

    since = retired_since(places, ONE.snapshot, [ONE.instance_id])
    assert since == {ONE.instance_id: retired.validated_at}
    day = (retired.validated_at - START).days + 1
    for number in range(10):
        add_run(store, f"new{number}", CodeState.AFTER, True, day)
        add_run(store, f"base{number}", CodeState.BEFORE, False, day)
    (still,) = judge_instances(places, ONE.snapshot, (asked,))
    assert still.reason is InvalidReason.FLAKY, "all its runs together"
    (again,) = judge_instances(places, ONE.snapshot, (replace(asked, since=retired.validated_at),))
    assert again.valid
    assert again.runs == 20
