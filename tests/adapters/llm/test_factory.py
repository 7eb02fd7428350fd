"""A switchboard as the edge makes it, asked through the tracked tables and the command that serves a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from llm_bench import KEY, MODEL, Benches, ask, work

from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.router_factory import make_router, spent_by, wires_of
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step, read_script
from tests.fakes.scripted_provider.server import text_step

ROOT = Path(__file__).resolve().parents[3]


def test_the_scripted_model_of_the_tracked_tables(tmp_path: Path) -> None:
    steps = [
        {"text": "hello"},
        {"fault": "rate-limit", "retry_after": 0},
        {"match": "judge", "text": "1"},
        {"text": "b"},
    ]
    (tmp_path / "script.json").write_text(json.dumps(steps))
    argv = [
        sys.executable,
        "-m",
        "tests.fakes.scripted_provider",
        "--script",
        str(tmp_path / "script.json"),
        "--port",
        "0",
    ]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(argv, cwd=ROOT, env=buffered, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        name, _, url = server.stdout.readline().strip().partition("=")
        try:
            board = make_router(
                store=Store(str(tmp_path / "store")), cache=tmp_path, data=ROOT / "data", environ={name: url}
            )
            model = board.model("scripted", work())
            replies = [model.complete(ask(text)) for text in ("hi", "judge this", "ho")]
            board.close()
        finally:
            server.terminate()
    assert [reply.text for reply in replies] == ["hello", "1", "b"]
    assert {reply.cost_usd for reply in replies} == {None}


def test_only_providers_with_a_key_are_asked() -> None:
    models = read_models(ROOT / "data" / "models.toml")
    assert set(wires_of(models, {})) == {"local", "scripted"}
    wires = wires_of(models, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert set(wires) == {"local", "openai", "scripted"}
    assert "127.0.0.1:1" in repr(wires["openai"])
    assert KEY not in repr(wires)


def test_a_sweep_goes_on_with_what_it_had_spent(bench: Benches) -> None:
    made = bench(
        [text_step("1", prompt=1000, completion=0), Step(fault=Fault.CUT), text_step("2", prompt=500, completion=0)]
    )
    for text in ("1", "2"):
        made.board().model(MODEL, work(sweep="s")).complete(ask(text))
    made.board().model(MODEL, work("other", sweep="s")).complete(ask("1"))
    spent = spent_by(made.store, "s")
    [cut] = made.rows(status=CallStatus.CUT)
    assert replace(spent, usd=0.0, tokens=0) == Spent(calls=2, unpriced=1, estimated_usd=cut.estimate_usd or 0.0)
    assert spent.usd == pytest.approx(0.0015, abs=1e-5)
    assert spent_by(made.store, "another") == Spent()
    meter = Meter("sweep s", Budget(calls=2), already=spent)
    with pytest.raises(BudgetExhausted):
        made.board().model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("3"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is not a list"),
        ("[", "is not JSON"),
        ("[1]", "step 1 is not an object"),
        ('[{"text": "a"}, {"fault": "flood"}]', "step 2: 'flood' is not a valid Fault"),
        ('[{"tool_calls": [{}]}]', "step 1: 'name'"),
    ],
)
def test_what_is_wrong_with_a_script(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_script(tmp_path / "s.json")


def test_no_script(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_script(tmp_path / "s.json")
