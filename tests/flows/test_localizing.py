"""`swt localize` over the demo: by BM25, and by the agent with a scripted provider."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from flows.interface.cli import app
from flows.interface.pipelines import run_flow
from flows.interface.requests import LocalizeRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import UsageError
from tasks.domain.llm import LlmCall
from tasks.domain.localization import Localization, LocalizationRun, Locator, RetrieverKind
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

pytestmark = pytest.mark.slow

GOLDEN = "larder/recipe.py"
INSTANCE = "rolling-swt-bench__larder-3"
AGENT = LocalizeRequest(snapshot="demo", method=Locator.AGENT, model="scripted", instances=(INSTANCE,))


def locates(call: ClientRequest) -> Step:
    """Extracts, retrieves, and names one file, of which it is sure."""
    last = call.messages[-1].text
    if "extract_relevant()" in last:
        return text_step(json.dumps({"function_call": "extract_relevant", "args": {}}))
    if "four keys" in last:
        return text_step(json.dumps({"explanation": "scaling", "code": ["scaled"], "errors": [], "paths": []}))
    if "get_bm25_top10" in last:
        return text_step(json.dumps({"function_call": "get_bm25_top10", "args": {}}))
    return text_step(json.dumps({"ranked_files": [GOLDEN], "confidence_scores": [9]}))


def test_bm25_ranks_a_snapshot_once_and_says_how_well(settings: Settings) -> None:
    request = LocalizeRequest(snapshot="demo")
    first, again = (run_flow(request, settings) for _ in range(2))
    assert (first.exit_code, first.problems) == (0, ())
    assert "10 made, 0 reused, 0 timed out, 0 left to do" in first.text
    assert "0 made, 10 reused, 0 timed out, 0 left to do" in again.text
    header, _, row = first.text.splitlines()[:3]
    recall = dict(zip(header.split(), row.split(), strict=True))
    assert (recall["method"], recall["n"], recall["unmeasured"]) == ("bm25", "10", "0")
    assert float(recall["recall_30"]) == 100.0
    assert 0 < float(recall["recall_1"]) <= float(recall["any_1"]) <= float(recall["any_10"])
    other = run_flow(replace(request, retriever=RetrieverKind.LUCENE), settings)
    assert "10 made" in other.text
    assert {run.variant for run in Store(settings.store).read(LocalizationRun)} == {"code", "lucene"}


def test_the_agent_asks_its_model_within_a_budget(settings: Settings) -> None:
    with ScriptedProvider(locates).serve() as url:
        told = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        stopped = run_flow(replace(AGENT, budget_calls=2), told)
        assert (stopped.exit_code, len(stopped.problems)) == (3, 1)
        assert "2 of 2 calls" in stopped.problems[0]
        done = run_flow(AGENT, told)
    assert (done.exit_code, done.problems) == (0, ())
    store = Store(settings.store)
    assert [(row.path, row.confidence) for row in store.read(Localization)] == [(GOLDEN, 9)]
    assert {(row.method, row.step, row.instance_id) for row in store.read(LlmCall)} == {("localize", "code", INSTANCE)}
    assert len({row.call_key for row in store.read(LlmCall)}) == 5


def test_requests_that_make_no_sense() -> None:
    for changes in ({"method": Locator.AGENT}, {"model": "scripted"}):
        with pytest.raises(UsageError):
            LocalizeRequest(snapshot="demo", **changes)


def test_the_command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STORE", settings.store), ("CACHE", settings.cache), ("DATABASE", settings.database)):
        monkeypatch.setenv(f"SWT_{name}", str(value))
    said = CliRunner().invoke(app, ["localize", "--snapshot", "demo", "--instances", INSTANCE])
    assert said.exit_code == 0, said.output
    assert "1 made" in said.stdout
    wrong = CliRunner().invoke(app, ["localize", "--snapshot", "demo", "--retriever", "magic"])
    assert (wrong.exit_code, "magic" in wrong.stderr) == (2, True)
