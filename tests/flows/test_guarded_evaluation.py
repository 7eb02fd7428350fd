"""Guards from end to end, on the bundled project."""

from __future__ import annotations

from typing import Any

from flows.demo import DEMO, SNAPSHOT
from flows.evaluation import evaluate_here
from flows.parameters import EvaluationRequest
from flows.settings import Settings
from tasks.adapters.store.database import query
from tasks.domain.outcome import RunVariant

INSTANCE = "rolling-swt-bench__larder-3"
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
    sql = f"SELECT method, solved, guarded FROM guarded WHERE grader = 'paper' AND instance_id = '{INSTANCE}'"
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
    successes = counts[f"{RunVariant.PLACEBO}/none"]
    assert counts[f"{RunVariant.REPEAT}/none"] == 2 * successes
    assert counts[f"{RunVariant.PARAPHRASE}/none"] == successes
    assert f"{RunVariant.PLAIN}/none" not in counts


def test_without_guards_nothing_is_said_about_them(settings: Settings) -> None:
    assert judge(settings, guards=False, coverage=False) == {
        "golden": (True, None),
        "demo-careful": (True, None),
        "demo-cheater": (True, None),
    }
    assert set(runs(settings)) == {f"{RunVariant.PLAIN}/none"}
