"""The papers' ablations, one command each: each runs on the demo, has rows of its own name, and its table answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from flows.interface.commands.queries import rebuild_views
from flows.interface.pipelines import run_flow
from flows.interface.requests import GenerateRequest, LocalizeRequest, SweepRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.candidate import Candidate
from tasks.domain.errors import UsageError
from tasks.domain.generation import Generation
from tasks.domain.llm import LlmCall
from tasks.domain.localization import LocalizationRun, Locator
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

INSTANCE = "rolling-swt-bench__larder-3"
FOUND = "larder/recipe.py"
TEST = "def test_issue():\n    assert False, 'the issue is there'\n"
PAPER = f"```custom-diff\ndiff\ntests/test_issue.py\ninsert\nEOF\n{TEST}end diff\n```"
SEARCH = '```search\nsearch_method("scaled")\nsearch_class(class_name="Recipe")\n```'


def answer(call: ClientRequest) -> Step:
    """One model for all of them."""
    asked = [message.text for message in call.messages]
    if "extract_relevant" in asked[0] or "ranked_files" in asked[-1]:
        return locates(asked[-1])
    if "custom diff format" in asked[0]:
        return text_step(PAPER)
    if "```search" in asked[0]:
        assert not call.tools
        return text_step(SEARCH if len(asked) == 1 else "It is `Recipe.scaled`, tested in tests/test_recipe.py.")
    return text_step(HELPFUL)


def locates(last: str) -> Step:
    if "four keys" in last:
        return text_step(json.dumps({"explanation": "scaling", "code": ["scaled"], "errors": [], "paths": []}))
    if "extract_relevant()" in last:
        return text_step(json.dumps({"function_call": "extract_relevant", "args": {}}))
    if "get_bm25_top10" in last:
        return text_step(json.dumps({"function_call": "get_bm25_top10", "args": {}}))
    return text_step(json.dumps({"ranked_files": [FOUND], "confidence_scores": [9]}))


@pytest.fixture
def provider(settings: Settings) -> Iterator[tuple[ScriptedProvider, Settings]]:
    made = ScriptedProvider(answer)
    with made.serve() as url:
        yield made, replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})


ABLATIONS = {
    "libro": ((), 6),
    "libro[filter=off]": (("filter=off",), 5),
    "zero_shot_plus": ((), 1),
    "zero_shot_plus[format=paper]": (("format=paper",), 1),
    "zero_shot_plus[context=agent]": (("context=agent",), 1),
    "zero_shot_plus[context=agent,top_n=1]": (("context=agent", "top_n=1"), 1),
    "auto_code_rover[tools=text]": (("tools=text",), 3),
}
"""Label → parameters, and replies that the method itself uses. Five equal samples are judged once."""


@pytest.mark.slow
def test_each_has_rows_of_its_own_and_is_in_the_tables(provider: tuple[ScriptedProvider, Settings]) -> None:
    made, settings = provider
    for label, (param, _) in ABLATIONS.items():
        request = SweepRequest(
            snapshot="demo",
            methods=(label.partition("[")[0],),
            models=("scripted",),
            instances=(INSTANCE,),
            param=param,
        )
        assert request.label(request.methods[0]) == label
        for _ in range(2):
            done = run_flow(request, settings)
            assert (done.exit_code, done.left) == (0, 0), done.problems
        served = len(made.books)
        assert run_flow(request, settings).exit_code == 0
        assert len(made.books) == served
    store = Store(settings.store)
    assert {row.method for row in store.read(Candidate)} - {"golden", "nop"} == ABLATIONS.keys()
    made_by = {row.variant: row for row in store.read(Generation)}
    assert {label: row.calls for label, row in made_by.items()} == {label: n for label, (_, n) in ABLATIONS.items()}
    assert all(row.rung == "exact" for row in made_by.values()), made_by
    assert {"search_method", "search_class", "context-gathered"} <= set(made_by["auto_code_rover[tools=text]"].path)
    assert "chose 0" in made_by["libro[filter=off]"].path
    calls = {row.method for row in store.read(LlmCall)}
    assert calls == {*ABLATIONS, "localize", "localize[top_n=1]"}
    asked = "SELECT method, S FROM table2 WHERE snapshot = 'demo'"
    assert {row["method"] for row in query(settings.database, asked).to_pylist()} == {"golden", "nop", *ABLATIONS}
    listed = query(settings.database, "SELECT label FROM variants")["label"].to_pylist()
    assert set(listed) == ABLATIONS.keys()


@pytest.mark.slow
def test_the_agents_files_are_the_context_and_it_looks_once_for_all(
    provider: tuple[ScriptedProvider, Settings],
) -> None:
    made, settings = provider
    request = GenerateRequest(
        snapshot="demo",
        methods=("zero_shot", "zero_shot_plus"),
        models=("scripted",),
        instances=(INSTANCE,),
        param=("context=agent",),
    )
    plan = run_flow(replace(request, dry_run=True), settings)
    assert [(row.method, row.calls) for row in plan.rows] == [
        ("localize", 40),
        ("zero_shot", 1),
        ("zero_shot_plus", 1),
    ]
    assert not made.books
    assert not Store(settings.store).read(LlmCall)
    assert run_flow(request, settings).exit_code == 0
    assert [text.count("<code path=") for text in shown(made)] == [1, 1]
    assert all(f'<code path="{FOUND}">' in text for text in shown(made))
    assert len(made.books) == 5 + 2
    assert [(row.in_store, row.calls) for row in run_flow(replace(request, dry_run=True), settings).rows] == [
        (1, 0)
    ] * 3
    fixed = replace(request, param=("context=agent", "locate=scripted-demo"), budget_calls=0)
    assert run_flow(fixed, settings).left == 2
    assert {row.model for row in Store(settings.store).read(LocalizationRun, method="agent")} == {"scripted"}


def shown(provider: ScriptedProvider) -> list[str]:
    """What the methods asked."""
    asked = [served.spoken.messages[-1].text for served in provider.books]
    return [text for text in asked if "Write tests that tell" in text]


@pytest.mark.slow
def test_how_many_files_the_agent_is_asked_for(provider: tuple[ScriptedProvider, Settings]) -> None:
    """The supplement's TOP-1, TOP-5 and TOP-10."""
    _, settings = provider
    request = LocalizeRequest(snapshot="demo", method=Locator.AGENT, model="scripted", instances=(INSTANCE,))
    for top_n in (1, 5, 10):
        done = run_flow(replace(request, top_n=top_n), settings)
        assert (done.exit_code, done.problems) == (0, ())
        assert done.text.count("scripted") == 1, "one row, of this depth"
    rebuild_views(settings)
    rows = query(settings.database, "SELECT top_n, k_10 FROM localization_k ORDER BY top_n").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(1, 1), (5, 1), (10, 1)]
    found = query(settings.database, "SELECT top_n FROM localization_code WHERE method = 'agent' ORDER BY top_n")
    assert found["top_n"].to_pylist() == [1, 5, 10]
    assert {row.method for row in Store(settings.store).read(LlmCall)} == {
        "localize[top_n=1]",
        "localize[top_n=5]",
        "localize",
    }


@pytest.mark.parametrize(
    ("method", "param", "said"),
    [
        ("zero_shot", ("format=paper",), "zero_shot has no format"),
        ("zero_shot", ("filter=off",), "zero_shot has no filter"),
        ("libro", ("filter=on",), "filter=on cannot be read"),
        ("libro", ("filter=off", "judge=scripted"), "libro has no judge"),
        ("zero_shot_plus", ("temperature=0.0",), "zero_shot_plus has temperature=0 anyway"),
        ("agent", ("temperature=0", "seed=1"), "agent has temperature=0 anyway"),
        ("pass_at_5", ("temperature=0.7",), "pass_at_5 has temperature=0.7 anyway"),
        ("libro", ("samples=5",), "libro has samples=5 anyway"),
        ("libro", ("temperature=0.70", "samples=3"), "libro has temperature=0.7 anyway"),
        ("zero_shot", ("top_n=1",), "zero_shot has no top_n without context=agent"),
        ("zero_shot", ("locate=scripted",), "zero_shot has no locate without context=agent"),
        ("agent", ("context=agent",), "agent has no context"),
        ("agent", ("tools=text",), "agent has no tools"),
        ("swe_agent", ("test_command=untold",), "swe_agent has test_command=untold anyway"),
        ("swe_agent_plus", ("test_command=told",), "swe_agent_plus has test_command=told anyway"),
        ("swe_agent", ("validation=tests",), "swe_agent has no validation"),
    ],
)
def test_what_would_change_nothing_is_refused(
    settings: Settings, method: str, param: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        run_flow(GenerateRequest(snapshot="demo", methods=(method,), models=("scripted",), param=param), settings)
