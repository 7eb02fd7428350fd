"""What is read of the stored runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from domain_rows import run_row, task_instance

from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, InstanceId, InstanceKey, RepoPath, RunKey
from tasks.domain.outcome import OTHER_CODE, Outcome, Phase, RunVariant, SuiteKind
from tasks.domain.run import CaseOutcome
from tasks.validate import observations as observe
from tasks.validate.observations import ToObserve, look, slowest_first

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def suite_row(instance: TaskInstance) -> Suite:
    """The golden suite of an instance: a file that is called as it is."""
    return Suite(
        suite_id=Suite.id_of(instance.instance_key, ""),
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        kind=SuiteKind.GOLDEN,
        patch="",
        files=(RepoPath(f"{instance.instance_id}.py"),),
        files_key=f"files of {instance.instance_id}",
        base_files=(),
        base_files_key="",
    )


def case_row(run_key: RunKey, case_id: str) -> CaseOutcome:
    return CaseOutcome(
        run_key=run_key,
        case_id=CaseId(case_id),
        path=RepoPath(case_id.partition("::")[0]),
        qualname="t",
        label=case_id,
        position=0,
        phase=Phase.CALL,
        outcome=Outcome.PASSED,
        duration_s=0.1,
        message="",
    )


def test_whose_golden_tests_took_longest_comes_first(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    pool = [task_instance(instance_id=InstanceId(name), instance_key=InstanceKey(name)) for name in "abcd"]
    took = {"a": [("golden", 2.0)], "b": [("golden", 1.0), ("golden", 9.0)], "c": [("golden", 3.0), ("none", 99.0)]}
    for one in pool:
        for number, (kind, seconds) in enumerate(took.get(one.instance_id, [])):
            run = run_row(
                run_key=RunKey(f"{one.instance_id}{number}"),
                instance_key=one.instance_key,
                suite_kind=SuiteKind(kind),
                wall_s=seconds,
            )
            store.write_run(run, [])
    assert [one.instance_id for one in slowest_first(store, reversed(pool))] == ["b", "c", "a", "d"]
    assert slowest_first(store, ()) == ()


def test_each_instance_has_its_own_runs_however_many_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(str(tmp_path))
    pool = [task_instance(instance_id=InstanceId(name), instance_key=InstanceKey(name)) for name in "abc"]
    suites = {one.instance_id: suite_row(one) for one in pool}
    for one in pool[:2]:
        for number in range(2):
            run = run_row(
                run_key=RunKey(f"{one.instance_id}{number}"),
                instance_key=one.instance_key,
                suite_kind=SuiteKind.GOLDEN,
                suite_id=suites[one.instance_id].suite_id,
                files_key=suites[one.instance_id].files_key,
                cases=1,
                cpu_s=1.0,
                started_at=BEGUN + timedelta(days=number),
            )
            store.write_run(run, [case_row(run.run_key, f"{one.instance_id}.py::t{number}")])
    wanted = [ToObserve(instance=one, suite=suites[one.instance_id], env_id=run.env_id) for one in pool]
    wanted.append(replace(wanted[0], since=BEGUN))
    found = []
    for at_once in (observe.AT_ONCE, 1):
        monkeypatch.setattr(observe, "AT_ONCE", at_once)
        seen = [runs for _, runs in look(store, wanted)]
        assert [runs.runs for runs in seen] == [2, 2, 0, 1]
        found.append([[case.case_id for case in runs.cases[SuiteKind.GOLDEN]] for runs in seen])
    assert found[0] == found[1] == [["a.py::t0", "a.py::t1"], ["b.py::t0", "b.py::t1"], [], ["a.py::t1"]]


@pytest.mark.parametrize("variant", RunVariant)
def test_runs_on_proposed_fixes_decoys_and_edits_are_no_repeats(tmp_path: Path, variant: RunVariant) -> None:
    """A golden test fails on a decoy as it should: beside the runs that count, it would be flaky."""
    store, instance = Store(str(tmp_path)), task_instance()
    suite = suite_row(instance)
    run = run_row(
        suite_kind=SuiteKind.GOLDEN, suite_id=suite.suite_id, files_key=suite.files_key, variant=variant, cases=1
    )
    store.write_run(run, [case_row(run.run_key, "a.py::t")])
    ((_, runs),) = look(store, [ToObserve(instance=instance, suite=suite, env_id=run.env_id)])
    counts = variant not in OTHER_CODE
    assert (runs.runs, len(runs.observed[SuiteKind.GOLDEN])) == ((1, 1) if counts else (0, 0))
    assert counts == (variant not in ("placebo", "paraphrase", "variant", "proposed"))


def test_a_decoy_that_never_ends_makes_no_instance_slow(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    pool = [task_instance(instance_id=InstanceId(name), instance_key=InstanceKey(name)) for name in "ab"]
    for one, variant, seconds in zip(pool, (RunVariant.PROPOSED, RunVariant.PLAIN), (300.0, 1.0), strict=True):
        known = {"run_key": RunKey(one.instance_id), "instance_key": one.instance_key, "suite_kind": SuiteKind.GOLDEN}
        store.write_run(run_row(**known, variant=variant, wall_s=seconds), [])
    assert [one.instance_id for one in slowest_first(store, pool)] == ["b", "a"]
