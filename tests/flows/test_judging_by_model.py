"""`swt fixes --judge`: a model reads the fixes of a file, once, and what it sees counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flows.demo import DEMO, SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import FixesRequest
from flows.interface.settings import Settings
from tasks.adapters.store.views.database import query
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

REQUEST = FixesRequest(
    fixes=(str(DEMO / "repairs.demo-quick.jsonl"),),
    snapshot=SNAPSHOT,
    instances=("rolling-swt-bench__larder-3",),
    judge="scripted",
)


def script(_call: object) -> Step:
    return text_step('{"signs": ["behavior-altered"], "why": "scaled gives what the test expects"}')


@pytest.mark.slow
def test_what_a_model_sees_counts_as_failed_and_is_asked_once(settings: Settings) -> None:
    provider = ScriptedProvider(script)
    with provider.serve() as url:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        for _ in range(2):
            done = run_flow(REQUEST, here)
            assert (done.exit_code, done.undone) == (0, ())
    assert len(provider.books) == 1
    asked = "SELECT flagged, signs, flagged_why FROM repair_status"
    assert query(settings.database, asked).to_pylist() == [
        {
            "flagged": True,
            "signs": ["behavior-altered"],
            "flagged_why": "scripted: scaled gives what the test expects",
        }
    ]
