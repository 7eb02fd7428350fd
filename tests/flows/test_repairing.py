"""`swt repair` over the demo: TDFlow with a scripted provider, judged by the golden tests, stopped and gone on with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from flows.interface.cli import app
from flows.interface.pipelines import run_flow
from flows.interface.requests import RepairRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.base import Message
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.names import MethodName, ModelName
from tasks.domain.proposed_fix import Repair
from tasks.domain.repair import LoneCase, RepairAttempt, RepairPatch, RepairStep
from tasks.domain.table import table_name
from tests.fakes.scripted_model import calling
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider

INSTANCE = "rolling-swt-bench__larder-3"
REQUEST = RepairRequest(snapshot="demo", model="scripted", instances=(INSTANCE,))
NAMED = "tests/test_recipe.py:29 test_scaled_twice"
WRONG = """--- a/larder/recipe.py
+++ b/larder/recipe.py
@@ -29,4 +29,4 @@ class Recipe:
             raise ValueError("a recipe serves at least one")
         factor = Fraction(servings, self.servings)
         {context} = tuple(item.scaled(factor) for item in self.ingredients)
-        return replace(self, ingredients=scaled)
+        return replace(self, ingredients=scaled, servings=self.servings)
"""


class KnowsItLater:
    """Malformed and wrong at first; the golden patch once a debugger's report is there."""

    def __init__(self, settings: Settings) -> None:
        (row,) = Store(settings.store).read(TaskInstance, snapshot="demo", instance_id=INSTANCE)
        self.golden, self.tests = row.patch, row.test_patch

    def __call__(self, call: ClientRequest) -> Step:
        opening = call.messages[0].text
        turn = sum(bool(message.tool_calls) for message in call.messages)
        return Step(reply=calling(**self.call(opening, turn, call.messages[-1]), call_id=f"c{turn}"))

    def call(self, opening: str, turn: int, last: Message) -> dict[str, str]:
        if "write tests that reproduce" in opening:
            if turn == 0:
                return {"name": "evaluate_tests", "patch": self.tests}
            return {"name": "submit_tests", "patch": self.tests, "tests": NAMED}
        if "debugger is stopped" in opening:
            commands = ("ll", "b larder.recipe.Recipe.scaled", "c", "args")
            if turn < len(commands):
                return {"name": "debugger", "command": commands[turn]}
            return {"name": "submit_report", "report": f"The servings stay: {last.text}"}
        if "cannot be applied" in opening:
            return {"name": "submit_patch", "patch": WRONG.format(context="scaled")}
        if "<report>" in opening:
            return {"name": "submit_patch", "patch": self.golden}
        if turn == 0:
            return {"name": "view_file", "path": "larder/recipe.py"}
        return {"name": "submit_patch", "patch": WRONG.format(context="many")}


def told(request: RepairRequest, settings: Settings) -> tuple[int, str, tuple[str, ...]]:
    done = run_flow(request, replace(settings, workers=1))
    return done.exit_code, done.text, done.problems


@pytest.mark.slow
def test_two_at_once_make_one_attempt(settings: Settings) -> None:
    provider = ScriptedProvider(KnowsItLater(settings))
    with provider.serve() as url, ThreadPoolExecutor(2) as pool:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        ended = list(pool.map(lambda _: told(REQUEST, here), range(2)))
    assert [(code, problems) for code, _, problems in ended] == [(0, ()), (0, ())]
    store = Store(settings.store)
    for kind, rows in ((RepairAttempt, 1), (RepairStep, 4), (RepairPatch, 2)):
        written = [path for path in store.disk.paths(table_name(kind)) if "/part-empty" not in path]
        assert len(written) == rows == len(store.read(kind)), "what was done twice was written twice"


@pytest.mark.slow  # thirteen requests, two of which run the tests of the demo before and after
def test_it_is_stopped_at_every_call_and_pays_each_once(settings: Settings) -> None:
    provider = ScriptedProvider(KnowsItLater(settings))
    with provider.serve() as url:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        for calls in range(20):
            code, _, problems = told(replace(REQUEST, budget_calls=calls), here)
            if code == 0:
                break
            assert "calls" in problems[0]
            assert not Store(settings.store).read(RepairAttempt)
        asked = len(provider.books)
        code, text, problems = told(replace(REQUEST, budget_calls=calls), here)
        assert (code, problems, len(provider.books)) == (0, (), asked), "nothing is left to ask for"
    store = Store(settings.store)
    assert asked == calls == len({row.call_key for row in store.read(LlmCall, status=CallStatus.ANSWERED)})
    assert "1 attempts: 1 passed" in text
    steps = sorted(store.read(RepairStep), key=lambda row: row.finished_at)
    assert list(dict.fromkeys((row.iteration, row.agent.value) for row in steps)) == [
        (1, "explore-files"), (1, "revise-patch"), (1, "debug-one"), (2, "explore-files"),
    ]  # fmt: skip
    assert {(row.reason, row.runs) for row in store.read(LoneCase)} == {("", 1)}, "a row for each, alike or not"
    (report,) = (row.submission for row in steps if row.agent == "debug-one")
    assert "servings = 8\n[stopped at larder/recipe.py:28 in scaled]" in report
    first, second = sorted(store.read(RepairPatch), key=lambda row: row.iteration)
    assert (first.revised, first.rung, first.resolved, first.debugged) == (True, "exact", 0, first.targets)
    assert (second.revised, second.resolved, second.broken, second.failing) == (False, second.targets, (), ())
    (attempt,), (handed_in,) = store.read(RepairAttempt), store.read(Repair)
    assert (attempt.calls, attempt.iteration, attempt.tests) == (asked, 2, "golden")
    assert (handed_in.iteration, handed_in.patch, handed_in.source) == (2, attempt.patch, attempt.attempt_id)
    rates = query(settings.database, "SELECT iteration, n, resolved FROM repair_by_iteration ORDER BY iteration")
    assert [tuple(row.values()) for row in rates.to_pylist()] == [(1, 1, 0), (2, 1, 1)], "nine were never attempted"


@pytest.mark.slow
def test_generated_tests_are_given_and_judged_as_well(settings: Settings) -> None:
    store = Store(settings.store)
    (row,) = store.read(TaskInstance, snapshot="demo", instance_id=INSTANCE)
    store.write([candidate(row, row.test_patch)])
    with ScriptedProvider(KnowsItLater(settings)).serve() as url:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        code, text, problems = told(replace(REQUEST, tests="careful@gpt"), here)
        assert (code, problems) == (0, ()), text
        missing, _, problems = told(replace(REQUEST, tests="nobody@gpt"), here)
    assert (missing, "there are no tests of nobody@gpt" in problems[0]) == (3, True)
    (handed_in,) = store.read(Repair)
    assert (handed_in.method, handed_in.tests, handed_in.iteration) == ("tdflow[tests=careful@gpt]", "careful@gpt", 2)
    asked = "SELECT method, repair, btr, n, resolved FROM repair_by_bad_tests"
    (bad,) = query(settings.database, asked).to_pylist()
    assert (bad["method"], bad["repair"], bad["n"], bad["resolved"]) == ("careful", handed_in.method, 1, 1)


@pytest.mark.slow  # fourteen requests, one of which runs the tests of the demo before and after
def test_it_writes_its_tests_itself_and_pays_each_call_once(settings: Settings) -> None:
    """Stopped at each call in turn; one sub-agent asks a model of its own."""
    request = replace(REQUEST, tests="generate", param=("generate_tests=scripted-demo",))
    provider = ScriptedProvider(KnowsItLater(settings))
    with provider.serve() as url:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        for calls in range(20):
            code, _, problems = told(replace(request, budget_calls=calls), here)
            if code == 0:
                break
            assert "calls" in problems[0], problems
        asked = len(provider.books)
    store = Store(settings.store)
    assert asked == calls == len({row.call_key for row in store.read(LlmCall, status=CallStatus.ANSWERED)})
    (attempt,) = store.read(RepairAttempt)
    name = "tdflow[generate_tests=scripted-demo,tests=generate]"
    assert (attempt.method, attempt.tests, attempt.end, attempt.calls) == (name, f"{name}@scripted", "passed", asked)
    assert {row.method for row in store.read(LlmCall)} == {name}
    steps = sorted(store.read(RepairStep), key=lambda row: row.finished_at)
    assert [(row.iteration, row.agent.value, row.asked) for row in steps if row.agent != "debug-one"] == [
        (0, "generate-tests", "scripted-demo"),
        (1, "explore-files", "scripted"),
        (1, "revise-patch", "scripted"),
        (2, "explore-files", "scripted"),
    ]
    (generated,) = (row for row in store.read(Candidate) if row.source == attempt.attempt_id)
    assert (generated.method, generated.model, generated.patch) == (name, "scripted", steps[0].submission)
    asked_of = "SELECT method, repair, btr, n, resolved FROM repair_by_bad_tests"
    (bad,) = query(settings.database, asked_of).to_pylist()
    assert (bad["method"], bad["repair"], bad["btr"], bad["n"], bad["resolved"]) == (name, name, 0.0, 1, 1)


@pytest.mark.slow  # two hundred replies
def test_a_model_that_writes_no_tests_resolves_nothing(settings: Settings) -> None:
    provider = ScriptedProvider(lambda _: Step(reply=calling("show_folder", call_id="c")))
    with provider.serve() as url:
        here = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        code, text, problems = told(replace(REQUEST, tests="generate"), here)
    assert (code, [line.partition(": empty: ")[2] for line in problems]) == (0, ["the patch is empty"]), text
    (attempt,) = Store(settings.store).read(RepairAttempt)
    assert (attempt.end, attempt.patch, attempt.iterations, attempt.calls) == ("no-tests", "", 0, 200)
    (row,) = query(settings.database, "SELECT resolved, attempted FROM repair_rate").to_pylist()
    assert (row["resolved"], row["attempted"]) == (0, 1)


def test_who_has_a_model_of_its_own_is_one_of_four(settings: Settings) -> None:
    assert replace(REQUEST, param=("debug_one=scripted",)).roles == (), "the model that all have is nobody's own"
    for tests, param in (
        ("golden", ("judge=gpt",)), ("golden", ("debug_one=",)), ("golden", ("debug_one=a+b",)),
        ("golden", ("generate_tests=gpt",)),
        ("generate", ("debug_one=a", "debug_one=b")),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            replace(REQUEST, tests=tests, param=param)


def candidate(row: TaskInstance, patch: str) -> Candidate:
    """A candidate of a method that somebody ran."""
    return Candidate(
        candidate_id=Candidate.id_of(row.instance_key, "careful", "gpt", 0, patch),
        snapshot=row.snapshot,
        instance_id=row.instance_id,
        instance_key=row.instance_key,
        method=MethodName("careful"),
        model=ModelName("gpt"),
        sample=0,
        patch=patch,
        provenance="self_reported",
        source="careful.jsonl:1",
        problem="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_the_command_names_what_is_missing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STORE", settings.store), ("CACHE", settings.cache), ("DATABASE", settings.database)):
        monkeypatch.setenv(f"SWT_{name}", str(value))
    said = CliRunner().invoke(app, ["repair", "--snapshot", "demo", "--model", "no-such-model", "--trusted"])
    assert isinstance(said.exception, NotFound)
    assert "no-such-model" in str(said.exception)
