"""A reply that an experiment's limit cuts is nobody's failed candidate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flows.interface.pipelines import run_flow
from flows.interface.requests import GenerateRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.base import Finish, Reply
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.generation import Generation, GenerationStatus
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider


def cut(_: object) -> Step:
    """A reply that is cut after half of what it had to say."""
    return Step(reply=Reply(text=HELPFUL[: len(HELPFUL) // 2], finish_reason=Finish.LENGTH))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("param", "status", "exit_code", "candidates"),
    [((), GenerationStatus.PROPOSED, 0, 1), (("max_tokens=50",), GenerationStatus.INFRASTRUCTURE, 1, 0)],
)
def test_a_cut_reply_counts_only_where_the_model_cut_it(
    settings: Settings, param: tuple[str, ...], status: GenerationStatus, exit_code: int, candidates: int
) -> None:
    request = GenerateRequest(
        snapshot="demo",
        methods=("zero_shot_plus",),
        models=("scripted",),
        instances=("rolling-swt-bench__larder-3",),
        param=param,
    )
    with ScriptedProvider(cut).serve() as url:
        done = run_flow(request, replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url}))
    store = Store(settings.store)
    (row,) = store.read(Generation)
    assert (row.status, done.exit_code, len(store.read(Candidate))) == (status, exit_code, candidates)
    if param:
        assert "cut at 50 tokens, the limit of the experiment" in done.problems[0]
        assert row.reasons[0].startswith("reply-cut: ")
    else:
        assert "cut" in row.path
