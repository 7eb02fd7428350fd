"""Robustness checks from end to end, on the bundled project."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import Faulty, disk_full
from flows import evaluate as evaluation
from flows.demo import DEMO, SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.patch.render import Change, render
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.candidate import Suite
from tasks.domain.decoy import CHOSEN, Decoy, DecoyKind
from tasks.domain.guard_edit import GuardPlan
from tasks.domain.instance import TaskInstance
from tasks.domain.outcome import EDITED, CodeState, RunVariant, SandboxKind, SuiteKind
from tasks.domain.proposed_fix import ProposedFix
from tasks.domain.run import Run
from tasks.evaluate.runs.decoy_runs import FIRST
from tasks.evaluate.runs.status import EvaluationStatus, standing
from tasks.integrity.decoys import MOST

pytestmark = pytest.mark.slow

INSTANCE = "rolling-swt-bench__larder-3"
IN_TURN, OTHERWISE = "36", "0"
"""Secrets from which fails, passes, fails, passes … follows for an honest test, and another order."""
EDITED_RUNS = {f"{variant}/none" for variant in EDITED}
CANDIDATES = ("golden", *(str(DEMO / f"predictions.demo-{name}.jsonl") for name in ("careful", "cheater")))


def judge(settings: Settings, *, guards: bool, coverage: bool = True) -> dict[str, tuple[Any, ...]]:
    """method → (solved, robust)."""
    request = EvaluationRequest(
        candidates=CANDIDATES,
        snapshot=SNAPSHOT,
        instances=(INSTANCE,),
        coverage=coverage,
        guards=guards,
    )
    run_flow(request, settings)
    sql = f"SELECT method, solved, robust FROM robust_verdict WHERE grader = 'paper' AND instance_id = '{INSTANCE}'"
    return {row["method"]: (row["solved"], row["robust"]) for row in query(settings.database, sql).to_pylist()}


def runs(settings: Settings) -> dict[str, int]:
    rows = query(settings.database, "SELECT variant, tracer, count(*) AS n FROM run GROUP BY ALL").to_pylist()
    return {f"{row['variant']}/{row['tracer']}": row["n"] for row in rows}


def test_a_look_at_the_source_is_solved_and_not_robust(settings: Settings) -> None:
    """Decoys are drawn: an honest test that covers less than the issue may accept one, and fails no other check."""
    found = judge(settings, guards=True)
    assert (found["golden"], found["demo-cheater"]) == ((True, True), (True, False))
    asked = "SELECT failed_guards FROM robust_verdict WHERE method = 'demo-careful' AND grader = 'paper'"
    (careful,) = query(settings.database, asked).to_pylist()
    assert careful["failed_guards"] in ([], ["decoy"])
    counts = runs(settings)
    assert {name: counts[name] for name in EDITED_RUNS} == dict.fromkeys(EDITED_RUNS, 3)
    assert counts[f"{RunVariant.REPEAT}/none"] == 2 * 3
    assert counts[f"{RunVariant.PLAIN}/none"] == 2, "it tells whether tracing made the cheater fail its check"
    asked = "SELECT guard, result, decoys FROM guard_outcome WHERE method = 'demo-cheater' AND grader = 'paper'"
    results = {row["guard"]: row["result"] for row in query(settings.database, asked).to_pylist()}
    assert results["placebo"] == "failed"
    assert results["repeat"] == "passed"
    (row,) = query(settings.database, "FROM decoy_count").to_pylist()
    assert row["chosen"] == CHOSEN
    assert row["enough"]
    asked = "SELECT decoys, decoys_rejected FROM table2 WHERE method = 'demo-careful'"
    (careful,) = query(settings.database, asked).to_pylist()
    assert careful["decoys"] == CHOSEN
    assert careful["decoys_rejected"] >= CHOSEN - 1
    assert query(settings.database, "FROM audit_orphan").num_rows == 0


def test_without_checks_no_success_is_robust_or_not(settings: Settings) -> None:
    assert judge(settings, guards=False, coverage=False) == {
        "golden": (True, None),
        "demo-careful": (True, None),
        "demo-cheater": (True, None),
    }
    assert set(runs(settings)) == {f"{RunVariant.PLAIN}/none"}


def test_nothing_is_confirmed_in_place_of_checks_that_failed_for_internal_reasons(settings: Settings) -> None:
    """The same command again makes them, and nothing needs to be confirmed then."""
    request = EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=(INSTANCE,))
    board = Faulty(disk_full("guards"))
    run_flow(request, settings, board)
    assert set(runs(settings)) == {f"{RunVariant.PLAIN}/probe", f"{RunVariant.PROPOSED}/none"}
    run_flow(request, settings)
    counts = runs(settings)
    tried = counts.pop(f"{RunVariant.PROPOSED}/none")
    assert FIRST <= tried <= MOST, "golden tests try decoys, and these runs are checks of the golden tests as well"
    assert counts == {f"{RunVariant.PLAIN}/probe": 4, f"{RunVariant.REPEAT}/none": 2, **dict.fromkeys(EDITED_RUNS, 1)}


def test_nothing_is_confirmed_that_another_machine_has_checked_meanwhile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks what stands, and then finds nothing to do: what it knows is old all the same."""
    request = EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=(INSTANCE,))

    def overtaken(*asked: Any) -> EvaluationStatus:
        found = standing(*asked)
        monkeypatch.setattr(evaluation, "standing", standing)
        run_flow(request, settings)
        return found

    monkeypatch.setattr(evaluation, "standing", overtaken)
    run_flow(request, settings)
    assert f"{RunVariant.PLAIN}/none" not in runs(settings)


COUNTING = """\
from pathlib import Path


def test_in_turn():
    count = Path("{count}")
    earlier = len(count.read_text()) if count.exists() else 0
    count.write_text("x" * (earlier + 1))
    assert earlier % 2
"""


def evaluate_counting(settings: Settings, folder: Path, *, guards: bool) -> None:
    """A candidate that knows nothing but how often it was run: it fails and passes in turn."""
    code = COUNTING.format(count=folder / "count").splitlines()
    head = ("diff --git a/{0} b/{0}", "new file mode 100644", "--- /dev/null", "+++ b/{0}", "@@ -0,0 +1,{1} @@")
    lines = "\n".join(head).format("tests/test_turn.py", len(code)) + "\n"
    patch = lines + "".join(f"+{line}\n" for line in code)
    predictions = folder / "turns.jsonl"
    row = {"instance_id": INSTANCE, "model_name_or_path": "turns", "model_patch": patch}
    predictions.write_text(json.dumps(row) + "\n")
    request = EvaluationRequest(
        candidates=(str(predictions),), snapshot=SNAPSHOT, instances=(INSTANCE,), coverage=False, guards=guards
    )
    run_flow(request, settings)


@pytest.mark.parametrize(("secret", "robust"), [(IN_TURN, True), (OTHERWISE, False)])
def test_keeping_count_passes_only_the_order_that_it_guesses(
    settings: Settings, tmp_path: Path, secret: str, robust: bool
) -> None:
    """Nothing isolates here, so the count lasts from run to run. With one decoy, three checks have to fail and three to
    pass: one order of 20 is in turn."""
    nothing_isolates = replace(settings, sandbox=SandboxKind.PROCESS, workers=1)
    store = Store(settings.store)
    store_decoy(store)
    evaluate_counting(nothing_isolates, tmp_path, guards=False)
    (suite,) = (row for row in store.read(Suite) if row.kind is SuiteKind.CANDIDATE)
    plan = GuardPlan(
        suite_id=suite.suite_id, instance_key=suite.instance_key, secret=secret, drawn_at=datetime.now(UTC)
    )
    store.write([plan])
    evaluate_counting(nothing_isolates, tmp_path, guards=True)
    asked = "SELECT solved, robust, decoys FROM robust_verdict WHERE grader = 'paper'"
    assert query(settings.database, asked).to_pylist() == [{"solved": True, "robust": robust, "decoys": 1}]
    checks = [run for run in store.read(Run, suite_id=suite.suite_id) if run.variant is not RunVariant.PLAIN]
    assert len(checks) == 6
    in_order = [_fails(run) for run in sorted(checks, key=lambda run: run.started_at)]
    assert (in_order == [True, False] * 3) == robust


def _fails(run: Run) -> bool:
    """Whether an honest test fails in this run."""
    return run.code_state is CodeState.BEFORE


def store_decoy(store: Store) -> None:
    """One decoy, which changes a document. Where the store has one, no others are made."""
    (instance,) = store.read(TaskInstance, snapshot=SNAPSHOT, instance_id=INSTANCE)
    patch = render([Change(path="NOTES.md", before=None, after="Recipes.\n")])
    known = {
        "fix_id": ProposedFix.id_of(instance.instance_key, patch),
        "instance_key": instance.instance_key,
        "instance_id": instance.instance_id,
        "patch": patch,
        "created_at": datetime.now(UTC),
    }
    store.write([ProposedFix(**known, problem="")])
    store.write([Decoy(**known, number=0, kind=DecoyKind.NO_BEHAVIOUR, near=True, detail="a document", seed="s")])
