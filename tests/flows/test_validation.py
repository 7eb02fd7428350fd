"""A validation from end to end: what leaks is judged by its leak and published by nobody, its neighbour is valid."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from flows.demo import SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest, ValidationRequest
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import apply_patch
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RunKey
from tasks.domain.outcome import OTHER_CODE, CodeState, RunStatus, RunVariant, SuiteKind
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.validation import InvalidReason
from tasks.snapshot.task import Order, draft_snapshot

LEAKING, SOUND = (f"rolling-swt-bench__larder-{number}" for number in (3, 7))


def plant_the_fix(settings: Settings, instance: TaskInstance, folder: Path) -> None:
    """Put the fixed file, under a name of its own, into the archive that checkouts of the base commit come from."""
    trees = Trees(Mirrors(settings.places.mirrors), settings.places.trees)
    trees.checkout(instance.repo, instance.base_commit, folder)
    applied = apply_patch(folder, instance.patch)
    data = (folder / applied.changes[0].path).read_bytes()
    (archive,) = settings.places.trees.glob(f"*-{instance.base_commit}.tar")
    with tarfile.open(archive, "a") as tar:
        member = tarfile.TarInfo("notes_of_a_colleague.py")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))


@pytest.fixture
def own_trees(settings: Settings, tmp_path: Path) -> Settings:
    """The same warehouse with a cache of its own: what is planted must not reach other tests."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "mirrors").symlink_to(settings.places.mirrors)
    return Settings(
        store=settings.store,
        cache=cache,
        database=settings.database,
        sandbox=settings.sandbox,
        trusted=True,
        workers=settings.workers,
        limits=settings.limits,
    )


@pytest.mark.slow
def test_what_leaks_is_not_published_and_says_why(own_trees: Settings, tmp_path: Path) -> None:
    store = Store(own_trees.store)
    (instance,) = store.read(TaskInstance, instance_id=LEAKING)
    plant_the_fix(own_trees, instance, tmp_path / "tree")

    request = ValidationRequest(snapshot=SNAPSHOT, instances=(LEAKING, SOUND), alone=True)
    summary = run_flow(request, own_trees)

    rows = {row.instance_id: row for row in summary.validations}
    assert (rows[LEAKING].reason, rows[SOUND].reason) == (InvalidReason.LEAK, InvalidReason.NONE)
    assert rows[LEAKING].detail.startswith("1 leaks, first files/fix at notes_of_a_colleague.py")
    assert "leak" in summary.text
    draft = draft_snapshot(own_trees.places, Order(snapshot="published", pool=SNAPSHOT))
    assert [row.instance_id for row in draft.rows] == [SOUND]
    assert {run.variant for run in store.read(Run, instance_id=LEAKING)}.isdisjoint(
        {RunVariant.RERUN, RunVariant.REORDERED}
    )
    checks = store.read(Run, variant=(RunVariant.REPEAT, *OTHER_CODE))
    assert not checks, "no robustness check decides whether an instance is valid"
    drawn = store.read(Run, instance_id=SOUND, suite_kind=SuiteKind.GOLDEN, variant=RunVariant.REORDERED)
    assert {run.code_state for run in drawn} == set(CodeState)
    assert all(run.order_seed == int(run.run_key[:8], 16) for run in drawn)
    alone = query(own_trees.database, "SELECT reason, instances, share, before, after FROM lone_instances").to_pylist()
    (turned,) = {row.fail_to_pass for row in summary.validations if row.valid}
    assert [tuple(row.values()) for row in alone] == [("same", 1, 100.0, turned, turned)]
    assert run_flow(request, own_trees).executed == 0, "none of it is run again"


@pytest.mark.slow
def test_what_hung_twice_on_the_code_before_is_not_waited_for_once_more(settings: Settings) -> None:
    """A prompt that waits for ever is a bug like others: two runs at the time limit say so, and five cost more."""
    run_flow(
        EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=(SOUND,), guards=False, confirm=False),
        settings,
    )
    store = Store(settings.store)
    (before,) = store.read(Run, suite_kind=SuiteKind.GOLDEN, code_state=CodeState.BEFORE)
    cases = store.read(CaseOutcome, run_key=before.run_key)
    hung = replace(before, variant=RunVariant.RERUN, status=RunStatus.TIMEOUT, wall_s=settings.limits.wall_s)
    keys = RunKey("hung-1"), RunKey("hung-2")
    for key in keys:
        store.write_run(replace(hung, run_key=key), [replace(case, run_key=key) for case in cases], (), ())

    summary = run_flow(ValidationRequest(snapshot=SNAPSHOT, instances=(SOUND,)), settings)

    assert summary.valid == (SOUND,)
    again = [run for run in store.read(Run, suite_kind=SuiteKind.GOLDEN) if run.variant is not RunVariant.PLAIN]
    assert {run.run_key for run in again if run.code_state is CodeState.BEFORE} == set(keys)
    assert [run.code_state for run in again].count(CodeState.AFTER) == 6, "the other side as often as ever"
