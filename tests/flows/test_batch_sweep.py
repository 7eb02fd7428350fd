"""A sweep in batches: half the price, nothing asked by itself, and a dry run that knows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flows.demo import SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import GenerateRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.errors import UsageError
from tasks.domain.llm import CallStatus, LlmCall
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import BATCHED, ScriptedProvider, text_step

CARD = """
[provider.bench]
base_url = "{url}"
batches = true
[model.bench]
provider = "bench"
price = "bench"
context = 128000
source = "a test"
[[price]]
key = "bench"
valid_from = 2020-01-01
input = 2.0
output = 8.0
source = "a test"
"""
REQUEST = GenerateRequest(
    snapshot=SNAPSHOT,
    methods=("zero_shot_plus", "pass_at_5"),
    models=("bench",),
    instances=("rolling-swt-bench__larder-3",),
    batch=True,
)


def helpful(_: ClientRequest) -> Step:
    return text_step(HELPFUL, prompt=1000, completion=100)


@pytest.fixture
def asked(settings: Settings, tmp_path: Path) -> Iterator[tuple[Settings, ScriptedProvider]]:
    provider = ScriptedProvider(helpful)
    with provider.serve() as url:
        (tmp_path / "own.toml").write_text(CARD.format(url=url))
        yield replace(settings, own_models=tmp_path / "own.toml"), provider


@pytest.mark.slow
def test_a_sweep_in_batches_costs_half(asked: tuple[Settings, ScriptedProvider]) -> None:
    settings, provider = asked
    plan, dear = (
        run_flow(replace(REQUEST, dry_run=True), settings),
        run_flow(replace(REQUEST, batch=False, dry_run=True), settings),
    )
    assert provider.books == []
    assert sum(row.usd_high or 0 for row in plan.rows) == pytest.approx(
        sum(row.usd_high or 0 for row in dear.rows) / 2, abs=2e-4
    )
    done = run_flow(REQUEST, settings)
    store = Store(settings.store)
    assert (done.left, done.exit_code, done.calls) == (0, 0, 6)
    assert {served.path for served in provider.books} == {BATCHED}
    assert len(provider.batches.made) == 1
    rows = store.read(LlmCall)
    assert [(row.status, row.cost_usd) for row in rows] == [(CallStatus.ANSWERED, 0.0014)] * 6
    assert done.usd == pytest.approx(6 * 0.0014)
    assert len([row for row in store.read(Candidate) if row.patch]) == 6
    assert run_flow(REQUEST, settings).left == 0
    assert len(provider.books) == 6


@pytest.mark.slow
def test_what_three_batches_leave_is_left_undone(asked: tuple[Settings, ScriptedProvider]) -> None:
    settings, provider = asked
    provider.script = lambda _: Step(fault=Fault.SERVER)
    request = replace(REQUEST, methods=("zero_shot_plus",))
    done = run_flow(request, settings)
    assert (done.left, len(provider.batches.made), len(provider.books)) == (1, 3, 3)
    assert [row.error for row in done.undone] == ["provider"]
    provider.script = helpful
    assert run_flow(request, settings).left == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"methods": ("zero_shot", "agent")}, "agent asks again"),
        ({"methods": ("codex",)}, "codex asks again"),
        ({"methods": ("zero_shot",), "param": ("context=agent",)}, "localization agent"),
        ({"methods": ("zero_shot",), "models": ("scripted",)}, "takes no batches"),
    ],
)
def test_what_cannot_be_asked_in_batches(
    asked: tuple[Settings, ScriptedProvider], change: dict[str, tuple[str, ...]], said: str
) -> None:
    for dry_run in (True, False):
        with pytest.raises(UsageError, match=said):
            run_flow(replace(REQUEST, **change, dry_run=dry_run), asked[0])  # type: ignore[arg-type]
