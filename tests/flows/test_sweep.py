"""Sweeps over the demo with a scripted provider, whose own books say what was asked and paid for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.interface.cli import app
from flows.interface.commands.queries import rebuild_views
from flows.interface.pipelines import run_flow
from flows.interface.requests import GenerateRequest, SweepRequest
from flows.interface.settings import PROJECT, Settings, settings_from
from flows.sweep import SweepSummary, chosen_instances
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, NotFound, UsageError
from tasks.domain.generation import Generation, GenerationStatus, Give
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.model_fact import ModelFact
from tasks.domain.undone import Undone
from tasks.generate.hints import changed_files, most_changed
from tests.fakes.contract import HELPFUL
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step

INSTANCES = ("rolling-swt-bench__larder-3", "rolling-swt-bench__larder-7")
REQUEST = GenerateRequest(
    snapshot="demo",
    methods=("zero_shot", "zero_shot_plus"),
    models=("scripted",),
    instances=INSTANCES,
    name="test",
)
PATIENCE = CallRetries(attempts=2, first_wait_s=0.01, longest_wait_s=0.02)


def judged(**changes: Any) -> SweepRequest:
    """The request, with verdicts."""
    same = {field.name: getattr(REQUEST, field.name) for field in fields(REQUEST)}
    return SweepRequest(**(same | changes))


def helpful(call: ClientRequest) -> Step:
    return text_step(HELPFUL)


class Desk:
    """A warehouse, a provider, and sweeps between the two."""

    def __init__(self, settings: Settings, provider: ScriptedProvider, url: str) -> None:
        self.settings = replace(settings, environ={"SWT_SCRIPTED_BASE_URL": url})
        self.provider = provider
        self.environ = {"SWT_SCRIPTED_BASE_URL": url}
        self.store = Store(settings.store)

    def sweep(self, request: GenerateRequest = REQUEST) -> SweepSummary:
        return run_flow(request, self.settings, patience=PATIENCE)

    @property
    def paid(self) -> Counter[str]:
        """Whole replies handed out, by what was asked."""
        return Counter(repr(served.spoken.messages) for served in self.provider.books if served.delivered)


@contextmanager
def desk_over(settings: Settings, script: Callable[[ClientRequest], Step]) -> Iterator[Desk]:
    provider = ScriptedProvider(script)
    with provider.serve() as url:
        yield Desk(settings, provider, url)


@pytest.fixture
def desk(settings: Settings) -> Iterator[Desk]:
    with desk_over(settings, helpful) as made:
        yield made


@pytest.mark.slow
def test_a_plan_asks_nobody_and_a_sweep_only_for_what_is_missing(desk: Desk) -> None:
    before = run_flow(replace(REQUEST, dry_run=True), desk.settings)
    assert not desk.settings.database.exists(), "a dry run judges nothing"
    assert [(row.method, row.in_store, row.calls, row.usd_low, row.usd_high) for row in before.rows] == [
        ("zero_shot", 0, 2, None, None),
        ("zero_shot_plus", 0, 2, None, None),
    ]
    assert all(row.tokens_in and row.tokens_in > 1000 for row in before.rows)
    assert "at most 4 calls" in before.text
    assert "an unknown number of dollars" in before.text
    assert not desk.provider.books
    assert not desk.store.read(Candidate)
    assert not desk.store.read(Generation)

    first = desk.sweep()
    assert (first.exit_code, first.calls, first.left, len(desk.provider.books)) == (0, 4, 0, 4)
    # What the plan counted by rendering is what was sent, as the provider counts four characters for a token.
    sent = sum(served.usage.prompt or 0 for served in desk.provider.books)
    assert sum(row.tokens_in or 0 for row in before.rows) == pytest.approx(sent, rel=0.25)

    more = replace(REQUEST, methods=(*REQUEST.methods, "pass_at_5"))
    plan = run_flow(replace(more, dry_run=True), desk.settings)
    assert [(row.method, row.in_store, row.calls) for row in plan.rows] == [
        ("zero_shot", 2, 0),
        ("zero_shot_plus", 2, 0),
        ("pass_at_5", 0, 10),
    ]
    second = desk.sweep(more)
    assert [(cell.reused, cell.proposed) for cell in second.cells] == [(2, 0), (2, 0), (0, 10)]
    assert len(desk.provider.books) == 14
    assert desk.sweep(more).calls == 14
    assert len(desk.provider.books) == 14
    cutoffs = {row.model: row.cutoff for row in desk.store.read(ModelFact)}
    assert cutoffs["gpt-4-1106-preview"] == datetime(2023, 5, 1, tzinfo=UTC)
    assert cutoffs["scripted"] is None


@pytest.mark.slow
def test_a_budget_stops_a_sweep_and_a_larger_one_goes_on(desk: Desk) -> None:
    small = replace(REQUEST, budget_calls=3)
    stopped = desk.sweep(small)
    assert (stopped.exit_code, stopped.calls, stopped.left) == (1, 3, 1)
    (line,) = stopped.problems
    assert line.startswith("generation rolling-swt-bench__larder-")
    assert "demo zero_shot" in line
    assert any(name in line for name in INSTANCES)
    assert "has used 3 of 3 calls" in line
    assert "1 left to do" in stopped.text
    assert len(desk.store.read(Candidate)) == 3
    again = desk.sweep(small)
    assert (again.exit_code, again.left, sum(cell.reused for cell in again.cells)) == (1, 1, 3)
    assert len(desk.provider.books) == 3
    done = desk.sweep(replace(REQUEST, budget_calls=5))
    assert (done.exit_code, done.calls, done.left) == (0, 4, 0)
    assert set(desk.paid.values()) == {1}
    assert len(desk.store.read(Candidate)) == 4


@pytest.mark.slow
def test_an_empty_account_ends_a_sweeps_calls_and_is_nobodys_failure(settings: Settings) -> None:
    with desk_over(settings, lambda call: replace(helpful(call), fault=Fault.NO_CREDIT)) as desk:
        desk.settings = replace(desk.settings, callers=1)
        done = desk.sweep()
        assert (done.exit_code, done.left, len(desk.provider.books)) == (3, 4, 1)
        left = [(row.error, row.may_pass) for row in desk.store.read(Undone) if row.round == "generation"]
        assert left == [("provider-account", False)] * 4
        assert {row.status for row in desk.store.read(Generation)} == {GenerationStatus.INFRASTRUCTURE}
        assert desk.store.read(Candidate) == ()


def faulty(*faults: Fault) -> Callable[[ClientRequest], Step]:
    """One fault for each of the first calls, then all is well."""
    left = list(faults)

    def answer(call: ClientRequest) -> Step:
        return replace(helpful(call), fault=left.pop(0)) if left else helpful(call)

    return answer


@pytest.mark.slow
def test_a_provider_in_trouble_is_nobodys_failure(settings: Settings) -> None:
    """Two attempts at each call, so the first sweep gives up on some work; the last finds nothing to do."""
    kinds = [Fault.RATE_LIMIT, Fault.SERVER, Fault.CUT, Fault.GARBAGE, Fault.HANG_UP, Fault.OVERLOADED]
    with desk_over(settings, faulty(*kinds * 2)) as desk:
        first = desk.sweep()
        assert (first.exit_code, first.left) == (3, 4)
        assert all("provider" in line for line in first.problems)
        assert desk.store.read(Candidate) == ()
        assert {row.status for row in desk.store.read(Generation)} == {GenerationStatus.INFRASTRUCTURE}
        codes = [desk.sweep().exit_code for _ in range(3)]
        assert codes[-1] == 0
        assert set(desk.paid.values()) == {1}
        assert sum(desk.paid.values()) == 4
        assert {row.status for row in desk.store.read(Generation)} == {GenerationStatus.PROPOSED}
        assert len(desk.store.read(Candidate)) == len(desk.store.read(Generation)) == 4
        statuses = Counter(row.status for row in desk.store.read(LlmCall))
        assert (statuses[CallStatus.ANSWERED], statuses[CallStatus.FAILED] + statuses[CallStatus.CUT]) == (4, 12)


@pytest.mark.slow
def test_killed_sweeps_finish_later(settings: Settings) -> None:
    """Two processes are killed with calls under way; the third, here, goes on to verdicts."""
    request = judged(methods=("zero_shot_plus", "pass_at_5"), instances=INSTANCES[:1])
    with desk_over(settings, lambda call: replace(helpful(call), wait_s=0.2)) as desk:
        for books in (2, 4):
            _kill_when(desk, lambda books=books: len(desk.provider.books) >= books)  # type: ignore[misc]
        done = desk.sweep(request)
        assert (done.exit_code, done.left) == (0, 0), done.problems
        unknown = desk.store.read(LlmCall, status=CallStatus.UNKNOWN)
        # What was under way at a kill may have been paid for: then a row says that nobody knows.
        assert sum(desk.paid.values()) - 6 <= len(unknown)
        answered = desk.store.read(LlmCall, status=CallStatus.ANSWERED)
        assert len(answered) == len({row.call_key for row in answered}) == 6
        assert len(desk.store.read(Candidate, method=("zero_shot_plus", "pass_at_5"))) == 6
        assert len(desk.store.read(Generation)) == 6
    scores = query(settings.database, "SELECT method, solved FROM table2 WHERE snapshot = 'demo' ORDER BY ALL")
    assert [tuple(row.values()) for row in scores.to_pylist()] == [
        ("golden", 1),
        ("nop", 0),
        ("pass_at_5", 0),
        ("zero_shot_plus", 0),
    ]
    assert Store(settings.store).check() == ()


def _kill_when(desk: Desk, ready: Callable[[], bool]) -> None:
    """A process of its own sweeps until `ready`, and is killed."""
    settings = desk.settings
    environ = dict(os.environ) | desk.environ
    environ |= {"SWT_STORE": settings.store, "SWT_CACHE": str(settings.cache), "SWT_DATABASE": str(settings.database)}
    argv = [
        sys.executable,
        "-c",
        "from flows.interface.cli import main; main()",
        "sweep",
        "--snapshot",
        "demo",
        "--trusted",
        "--name",
        "test",
    ]
    argv += ["--method", "zero_shot_plus", "--method", "pass_at_5", "--model", "scripted", "--instances", INSTANCES[0]]
    process = subprocess.Popen(argv, env=environ, cwd=PROJECT, start_new_session=True, stderr=subprocess.DEVNULL)
    while not ready():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_experiments_hand_out_more_under_a_name_of_their_own(desk: Desk) -> None:
    give = (Give.GOLDEN_PATCH, Give.MODIFIED_FILES)
    request = replace(REQUEST, methods=("zero_shot_plus",), instances=INSTANCES[:1], give=give)
    assert desk.sweep(request).exit_code == 0
    (candidate,) = desk.store.read(Candidate)
    assert (candidate.method, candidate.provenance) == ("zero_shot_plus+golden-patch+modified-files", "oracle")
    assert request.label("zero_shot_plus") == candidate.method
    asked = desk.provider.books[0].spoken.messages[-1].text
    assert "replace(self, servings=servings" in asked
    assert asked.count("<code path=") == 1


@pytest.mark.slow
def test_experiments_have_names_and_none_takes_anothers_place(desk: Desk) -> None:
    """The paper's Table 8, Figure 8 and the other retriever, one command each; every one keeps its candidates."""
    base = replace(REQUEST, methods=("zero_shot_plus",), instances=INSTANCES[:1])
    told = {
        "zero_shot_plus": (),
        "zero_shot_plus[context=lucene]": ("context=lucene",),
        "zero_shot_plus[reasoning_effort=low,temperature=0.7]": ("temperature=0.70", "reasoning_effort=low"),
        "libro[samples=2,temperature=0.3]": ("samples=2", "temperature=.3"),
    }
    for label, param in told.items():
        request = replace(base, methods=(label.partition("[")[0],), param=param)
        assert request.label(request.methods[0]) == label
        for _ in range(2):
            assert desk.sweep(request).exit_code == 0
    assert {row.method for row in desk.store.read(Candidate)} == told.keys()
    assert {row.variant for row in desk.store.read(Generation)} == told.keys()
    assert {row.method for row in desk.store.read(LlmCall)} == told.keys()
    temperatures = {row.method: row.temperature for row in desk.store.read(LlmCall, step="")}
    assert list(map(temperatures.get, told)) == [0.0, 0.0, 0.7, 0.3]
    assert [served.spoken.options.get("reasoning_effort") for served in desk.provider.books].count("low") == 1
    rebuild_views(desk.settings)
    rows = query(desk.settings.database, "SELECT label, parameters, proposed + nothing FROM variants").to_pylist()
    assert {tuple(row.values()) for row in rows} == {
        (label, label.partition("[")[2].removesuffix("]"), 1) for label in told
    }


@pytest.mark.parametrize(
    ("method", "param", "said"),
    [
        ("zero_shot", ("colour=red",), "there is no parameter 'colour'"),
        ("zero_shot", ("temperature=hot",), "temperature=hot cannot be read"),
        ("zero_shot", ("temperature=0.1", "temperature=0.2"), "temperature is to be 0.1 and 0.2"),
        ("zero_shot", ("samples=3",), "zero_shot has no samples"),
        ("agent", ("context=lucene",), "agent has no context"),
        ("zero_shot_plus", ("judge=scripted",), "zero_shot_plus has no judge"),
    ],
)
def test_an_experiment_that_means_nothing_is_refused(
    settings: Settings, method: str, param: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        run_flow(replace(REQUEST, methods=(method,), param=param), settings)


def test_what_changes_most() -> None:
    patch = (
        "--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n"
    )
    assert changed_files(patch) == ("one.py",)
    assert most_changed(patch) == "one.py"
    assert most_changed("") == ""


def looks_around(call: ClientRequest) -> Step:
    """Answers every method; an agent looks at all of the history, and at other processes, first."""
    said = [message.text for message in call.messages]
    if "Exit code:" in said[-1]:
        return text_step(f"```bash\nsubmit\n```\n{HELPFUL}" if len(said) > 3 else HELPFUL)
    shell = "marked bash" in said[0] or "```bash" in said[0]
    return text_step("```bash\ngit log --all | cat\n```" if shell else HELPFUL)


@pytest.mark.slow
def test_candidates_whose_method_looked_around_are_suspected(settings: Settings) -> None:
    request = judged(methods=("zero_shot_plus", "agent"), instances=INSTANCES[:1])
    with desk_over(settings, looks_around) as desk:
        done = desk.sweep(request)
        assert (done.exit_code, done.left) == (0, 0), done.problems
        assert all(row.trajectory for row in desk.store.read(Generation))
        (found,) = desk.store.read(TrajectoryAudit)
        assert (found.rule, found.detail) == ("all-history", "git log --all")
    scores = query(settings.database, "SELECT method, audited, suspected FROM suspicion_count ORDER BY method")
    assert [tuple(row.values()) for row in scores.to_pylist()] == [
        ("agent", 1, 1),
        ("golden", 0, 0),
        ("nop", 0, 0),
        ("zero_shot_plus", 1, 0),
    ]
    suspects = query(settings.database, "SELECT method, reasons FROM suspects")
    assert suspects.to_pylist() == [{"method": "agent", "reasons": ["trajectory:all-history"]}]


@pytest.mark.slow
def test_windows_and_limits_choose(settings: Settings) -> None:
    whole = replace(REQUEST, instances=())
    few, more = (chosen_instances(replace(whole, limit=limit), settings) for limit in (2, 4))
    assert more[:2] == few
    spring = chosen_instances(replace(whole, months=2, until=date(2025, 5, 13)), settings)
    assert sorted(row.created_at.month for row in spring if row.created_at) == [4, 4, 5]
    with pytest.raises(BadInput, match="no instance"):
        chosen_instances(replace(whole, months=1, until=date(2020, 1, 1)), settings)


def test_requests_that_make_no_sense(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no method"):
        desk.sweep(replace(REQUEST, methods=("telepathy",)))
    with pytest.raises(NotFound, match="no model"):
        desk.sweep(replace(REQUEST, models=("gpt-99",)))
    with pytest.raises(UsageError, match="has no price"):
        desk.sweep(replace(REQUEST, budget_usd=1.0))
    for changes in ({"methods": ()}, {"give": (Give.MODIFIED_FILES,)}, {"months": 2}):
        with pytest.raises(UsageError):
            replace(REQUEST, **changes)


@pytest.mark.slow
def test_a_model_of_ones_own_is_asked_and_priced(settings: Settings, desk: Desk, tmp_path: Path) -> None:
    """As a command line and a worker read it: from the environment."""
    (tmp_path / "mine.toml").write_text(
        f"""
[provider.lab]
base_url = "{desk.environ["SWT_SCRIPTED_BASE_URL"]}"
key_env = "LAB_KEY"
[model.lab-1]
provider = "lab"
price = "lab"
context = 100000
source = "a test"
[[price]]
key = "lab"
valid_from = 2020-01-01
input = 1.0
output = 2.0
source = "a test"
"""
    )
    read = settings_from({"SWT_MODELS": str(tmp_path / "mine.toml"), "LAB_KEY": "k"})
    desk.settings = replace(desk.settings, own_models=read.own_models, environ=read.environ)
    desk.sweep(replace(REQUEST, methods=("zero_shot",), models=("lab-1",), budget_usd=1.0))
    calls = desk.store.read(LlmCall, model="lab-1")
    assert {call.status for call in calls} == {CallStatus.ANSWERED}
    assert all(call.estimate_usd for call in calls), "the provider tells no usage: booked at the price of the file"


@pytest.mark.slow
def test_the_commands(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("STORE", settings.store), ("CACHE", settings.cache), ("DATABASE", settings.database)):
        monkeypatch.setenv(f"SWT_{name}", str(value))
    common = ["--model", "gpt-4-1106-preview", "--snapshot", "demo", "--instances", INSTANCES[0], "--dry-run"]
    said = CliRunner().invoke(app, ["sweep", "--method", "zero_shot", *common])
    assert said.exit_code == 0, said.output
    assert "at most 1 calls" in said.stdout
    assert "at most 0.1" in said.stdout
    wrong = CliRunner().invoke(app, ["generate", "--method", "zero_shot", "--give", "hints", *common])
    assert (wrong.exit_code, "hints" in wrong.stderr) == (2, True)
