"""Guards from end to end, on the bundled project."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults import Faulty, disk_full
from flows import evaluation
from flows.demo import DEMO, SNAPSHOT
from flows.evaluation import evaluate, evaluate_here
from flows.parameters import EvaluationRequest
from flows.run import begin
from flows.settings import Settings
from tasks.adapters.store.database import query
from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import Suite
from tasks.domain.guard_edit import EDITS, GuardPlan
from tasks.domain.outcome import RunVariant, SandboxKind, SuiteKind
from tasks.evaluate.standing import Standing, standing

INSTANCE = "rolling-swt-bench__larder-3"
IN_TURN, OTHERWISE = "18", "0"
"""Secrets from which before, after, before, after … follows, and another order."""
CANDIDATES = ("golden", *(str(DEMO / f"predictions.demo-{name}.jsonl") for name in ("careful", "cheater")))


def judge(settings: Settings, *, guards: bool, coverage: bool = True) -> dict[str, tuple[Any, ...]]:
    """method → (S, S_guarded) where the instance is all there is."""
    request = EvaluationRequest(
        candidates=CANDIDATES,
        snapshot=SNAPSHOT,
        instances=(INSTANCE,),
        coverage=coverage,
        guards=guards,
    )
    evaluate_here(request, settings)
    sql = f"SELECT method, solved, guarded FROM robust_verdict WHERE grader = 'paper' AND instance_id = '{INSTANCE}'"
    return {row["method"]: (row["solved"], row["guarded"]) for row in query(settings.database, sql).to_pylist()}


def runs(settings: Settings) -> dict[str, int]:
    rows = query(settings.database, "SELECT variant, tracer, count(*) AS n FROM run GROUP BY ALL").to_pylist()
    return {f"{row['variant']}/{row['tracer']}": row["n"] for row in rows}


def test_a_look_at_the_source_is_solved_and_does_not_hold(settings: Settings) -> None:
    assert judge(settings, guards=True) == {
        "golden": (True, True),
        "demo-careful": (True, True),
        "demo-cheater": (True, False),
    }
    counts = runs(settings)
    assert counts[f"{RunVariant.PLACEBO}/none"] == counts[f"{RunVariant.PARAPHRASE}/none"] == 3 * EDITS
    # What tells, of the one that does not hold, whether it is the words, and whether it was tracing.
    assert counts[f"{RunVariant.REPEAT}/none"] == counts[f"{RunVariant.PLAIN}/none"] == 2
    asked = "SELECT guard, result FROM guard_outcome WHERE method = 'demo-cheater' AND grader = 'paper' ORDER BY guard"
    found = {row["guard"]: row["result"] for row in query(settings.database, asked).to_pylist()}
    assert found == {"lint": "passed", "paraphrase": "passed", "placebo": "failed", "repeat": "passed"}


def test_without_guards_nothing_is_said_about_them(settings: Settings) -> None:
    assert judge(settings, guards=False, coverage=False) == {
        "golden": (True, None),
        "demo-careful": (True, None),
        "demo-cheater": (True, None),
    }
    assert set(runs(settings)) == {f"{RunVariant.PLAIN}/none"}


def test_nothing_is_confirmed_in_place_of_guards_that_failed_through_us(settings: Settings) -> None:
    """They are made by the same command again, and speak for the success then."""
    request = EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=(INSTANCE,))
    board = Faulty(disk_full("guards"))
    begin("evaluate", request.title, Store(settings.store), board, lambda run: evaluate(request, settings, run))
    assert set(runs(settings)) == {f"{RunVariant.PLAIN}/probe"}
    evaluate_here(request, settings)
    assert runs(settings) == {
        f"{RunVariant.PLAIN}/probe": 4,
        f"{RunVariant.PLACEBO}/none": EDITS,
        f"{RunVariant.PARAPHRASE}/none": EDITS,
    }


def test_nothing_is_confirmed_that_another_machine_has_guarded_meanwhile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks what stands, and then finds nothing to do: what it knows is old all the same."""
    request = EvaluationRequest(candidates=("golden",), snapshot=SNAPSHOT, instances=(INSTANCE,))

    def overtaken(*asked: Any) -> Standing:
        found = standing(*asked)
        monkeypatch.setattr(evaluation, "standing", standing)
        evaluate_here(request, settings)
        return found

    monkeypatch.setattr(evaluation, "standing", overtaken)
    evaluate_here(request, settings)
    assert set(runs(settings)) == {
        f"{RunVariant.PLAIN}/probe",
        f"{RunVariant.PLACEBO}/none",
        f"{RunVariant.PARAPHRASE}/none",
    }


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
    evaluate_here(request, settings)


@pytest.mark.parametrize(("secret", "held"), [(IN_TURN, True), (OTHERWISE, False)])
def test_keeping_count_passes_only_the_order_that_it_guesses(
    settings: Settings, tmp_path: Path, secret: str, held: bool
) -> None:
    """Nothing isolates here, so the count lasts from run to run. In turn, from `before` on, is what was the order."""
    nothing_isolates = replace(settings, sandbox=SandboxKind.PROCESS, workers=1)
    evaluate_counting(nothing_isolates, tmp_path, guards=False)
    (suite,) = (row for row in Store(settings.store).read(Suite) if row.kind is SuiteKind.CANDIDATE)
    plan = GuardPlan(
        suite_id=suite.suite_id, instance_key=suite.instance_key, secret=secret, drawn_at=datetime.now(UTC)
    )
    Store(settings.store).write([plan])
    evaluate_counting(nothing_isolates, tmp_path, guards=True)
    asked = "SELECT solved, guarded, before_like, after_like, round(1 / c.chance) AS one_in FROM robust_verdict"
    joined = f"{asked} JOIN guard_chance AS c USING (candidate_id, policy) WHERE grader = 'paper'"
    assert query(settings.database, joined).to_pylist() == [
        {"solved": True, "guarded": held, "before_like": 3, "after_like": 3, "one_in": 20.0}
    ]
