"""Every parameter of every registered method changes what is sent, run or started, or is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from agent_bench import WALKER, office, put, toy_bench
from domain_rows import task_instance

from flows.context import searches_of, wants_files
from flows.interface.requests import GenerateRequest
from tasks.adapters.agents.base import Agent, AgentTask, NpmKit
from tasks.adapters.agents.catalogue import AGENTS
from tasks.adapters.llm.base import GREEDY, UNSAID, ModelQuestion, Options, Reply, ToolCall, user
from tasks.adapters.llm.catalogue.models import DIALECTS, ModelCard, Provider
from tasks.adapters.llm.dialects.by_name import refuse_unsent
from tasks.adapters.workbench import base
from tasks.adapters.workbench.base import CommandResult, Hit
from tasks.domain.errors import UsageError
from tasks.domain.llm import AgentRun
from tasks.domain.names import InstanceId
from tasks.domain.outcome import Outcome, RunStatus
from tasks.domain.variant import PARAMETERS, PLAIN, Variant, variant_of
from tasks.generate.estimate import PaperBench
from tasks.generate.methods.external import External, errand_for, validation_of
from tasks.generate.registry import METHODS, OURS, methods
from tasks.generate.task import options_of
from tasks.integrity.hacking.reading import judged
from tasks.localize.settings import AgentSettings
from tasks.methods.method import Assignment, ContextFile, Method, MethodBudget
from tasks.repair.settings import TdflowLimits
from tests.fakes.scripted_model import Scripted
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import text_step
from tests.fakes.toy_tasks import TOY_TASKS

BUDGET = MethodBudget(seconds=120.0)
CARD = ModelCard(name="m", model_id="m", provider=Provider(name="p", base_url="http://127.0.0.1:9"), source="a test")
VALUES = {
    "calls": ("4", "30"),
    "context": ("lucene", "agent"),
    "context_tokens": ("200",),
    "filter": ("off",),
    "format": ("paper",),
    "max_tokens": ("500",),
    "reasoning_effort": ("low",),
    "reasoning_tokens": ("2000",),
    "samples": ("3", "7"),
    "seed": ("7",),
    "stop": ("END",),
    "temperature": ("0", "0.3", "0.7"),
    "test_command": ("told", "untold"),
    "tools": ("text",),
    "top_n": ("3",),
    "top_p": ("0.5",),
    "validation": ("tests",),
    "verbosity": ("low",),
    **dict.fromkeys(("judge", "locate", "search", "write"), ("other",)),
}
WITH = {"reasoning_tokens": "max_tokens=500", "top_n": "context=agent", "locate": "context=agent"}
"""What some parameters need beside them to mean anything."""
PAIRS = [(method, name, value) for method in methods().values() for name in PARAMETERS for value in VALUES[name]]


def parameter_of(name: str, value: str) -> tuple[Variant, Variant]:
    """An experiment with a parameter, and what it is compared with."""
    beside = [WITH[name]] if name in WITH else []
    return variant_of([f"{name}={value}", *beside]), variant_of(beside)


@cache
def assignment() -> Assignment:
    """The first toy's, with more files than 200 tokens hold."""
    more = ContextFile(path="more.py", text="".join(f"value_{n} = {n}\n" for n in range(200)))
    return replace(TOY_TASKS[0].assignment, context=(*TOY_TASKS[0].assignment.context, more))


def busy(asked: ModelQuestion) -> Reply | str:
    """A model that uses every reply that it is given."""
    nth, opening = len(asked.messages), asked.messages[0].text
    if "same_problem" in opening:
        return "I cannot tell."
    if asked.tools:
        call = ToolCall(call_id=f"{nth}", name="search_code", arguments=json.dumps({"code": f"x{nth}"}))
        return Reply(text="", tool_calls=(call,))
    if "```search" in opening:
        return f'```search\nsearch_code("x{nth}")\n```'
    if "replies in all" in opening:
        return f"```bash\necho {nth}\n```"
    return f"edit tests/test_new.py\ninsert at end\ndef test_{asked.sample}():\n    assert False\nend edit\n"


def observed(method: Method, variant: Variant, folder: Path) -> object:
    """All that can be seen of a method in an experiment: the files that it is shown, and what it asks or starts."""
    request = GenerateRequest(
        snapshot="s", methods=(method.name,), models=("m",), param=tuple(f"{n}={v}" for n, v in variant.parameters)
    )
    shown = ()
    if wants_files(request, [method]):
        shown = (variant["context"], searches_of(request, [InstanceId("i")]) if variant.located else None)
    context = assignment().context if method.retrieval else ()
    budget, given = BUDGET.changed(variant), replace(assignment(), variant=variant, context=context)
    options = options_of(variant, method)
    if isinstance(method.run, External):
        question = ModelQuestion(messages=(user("x"),), options=UNSAID)
        return shown, started(method.run.agent, given, budget, folder), CARD.request(question, options, {}).facts()
    model = Scripted(busy)
    made = list(method.run(given, QuickBench(tuple(TOY_TASKS[0].files), read), model, budget))
    asked = [(CARD.request(one, options).facts(), variant.models.get(one.step)) for one in model.asked]
    return shown, asked, [one.patch for one in made]


def read(path: str) -> bytes | None:
    return TOY_TASKS[0].files[path].encode() if path in TOY_TASKS[0].files else None


@dataclass(frozen=True)
class FailedCase:
    """What methods read of a failed case."""

    case_id: str
    outcome: Outcome = Outcome.FAILED
    message: str = "AssertionError"
    path: str = "test_toy.py"
    qualname: str = "test_toy"
    place: int | None = None


class QuickBench(PaperBench):
    """The toy's files, where every command prints the same and every test file has one failing case."""

    def search(self, text: str, *, under: str = "", limit: int = 50) -> tuple[Hit, ...]:
        return ()

    def run(self, argv: Sequence[str], *, timeout_s: float = 120.0) -> CommandResult:
        return CommandResult(exit_code=0, output="done", timed_out=False, seconds=0.1)

    def run_tests(self, files: Sequence[str], cases: Sequence[str] = ()) -> base.Tested:
        failed = [FailedCase(path) for path in files if read(path) is None]
        return base.Tested(status=RunStatus.COMPLETED, cases=tuple(failed), log="")  # type: ignore[arg-type]

    def write(self, path: str, text: str | None) -> None:
        """Nothing is kept."""

    @contextmanager
    def fork(self) -> Iterator[QuickBench]:
        yield self


def started(agent: Agent, given: Assignment, budget: MethodBudget, folder: Path) -> object:
    """What an agent is started with."""
    external = External(agent=agent)
    allowance = external.allowance(given, budget)
    errand = AgentTask(
        root=root_of(agent, folder),
        url="http://127.0.0.1:1",
        token="t",
        model="m",
        prompt=errand_for(agent, given, budget),
        outbox=PurePosixPath("/outbox"),
        checkout=PurePosixPath("/checkout"),
        calls=allowance.told or allowance.calls,
        validation=validation_of(given),
    )
    return errand.prompt, allowance, asdict(agent.launch(errand))


def root_of(agent: Agent, folder: Path) -> Path:
    """A folder with the programs that npm would have put there."""
    if isinstance(agent.kit, NpmKit):
        for name in ("@anthropic-ai/claude-code-linux-x64/claude", "@openai/codex-linux-x64/vendor/v/bin/codex"):
            (folder / "node_modules" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "node_modules" / name).touch()
        (folder / "node_modules/opencode-linux-x64/bin").mkdir(parents=True, exist_ok=True)
        (folder / "node_modules/opencode-linux-x64/bin/opencode").touch()
    return folder


def refusal(method: Method, variant: Variant) -> str:
    """The words with which an experiment is refused; empty if it is not."""
    try:
        method.check(variant)
    except UsageError as error:
        return f"{error}: {error.hint}"
    return ""


def test_every_parameter_has_values_here() -> None:
    assert VALUES.keys() == PARAMETERS.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name", "value"), PAIRS, ids=lambda one: getattr(one, "name", str(one)))
def test_a_parameter_changes_something_or_is_refused(method: Method, name: str, value: str, tmp_path: Path) -> None:
    variant, plain = parameter_of(name, value)
    refused = refusal(method, plain) or refusal(method, variant)
    same = observed(method, variant, tmp_path) == observed(method, plain, tmp_path)
    assert same == bool(refused), refused or f"{name}={value} changes nothing of {method.name}"
    assert not refused or refused.startswith(method.name)
    assert not refused or "anyway" in refused or f": {method.name} takes " in refused


def test_the_refusal_lists_what_the_method_takes() -> None:
    with pytest.raises(UsageError, match="zero_shot has no calls") as refused:
        METHODS.named("zero_shot").check(variant_of(["calls=3"]))
    assert refused.value.hint == (
        "zero_shot takes context, context_tokens, max_tokens, reasoning_effort, reasoning_tokens, seed, stop, "
        "temperature, top_p, verbosity"
    )
    with pytest.raises(UsageError, match="libro has calls=30 anyway") as same:
        METHODS.named("libro").check(variant_of(["calls=30"]))
    assert "15 replies at most" in same.value.hint


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
@pytest.mark.parametrize("calls", [None, 3, 30])
def test_prompt_settings_and_gateway_of_an_agent_name_the_same_number(
    agent: Agent, calls: int | None, tmp_path: Path
) -> None:
    variant = PLAIN if calls is None else variant_of([f"calls={calls}"])
    given = replace(assignment(), variant=variant)
    allowance = External(agent=agent).allowance(given, BUDGET.changed(variant))
    prompt, _, launched = started(agent, given, BUDGET.changed(variant), tmp_path)  # type: ignore[misc]
    told = calls or agent.stops_after or 20
    assert (allowance.calls, allowance.told) == (calls or 20, told)
    assert f"You have {told} replies at most" in prompt
    said = {
        "aider": f"max_reflections = {told - 1};",
        "claude_code": f"'--max-turns', '{told}'",
        "mini_swe_agent": f'"step_limit": {told}',
        "swe_agent": f'"per_instance_call_limit": {told}',
        "swe_agent_plus": f'"per_instance_call_limit": {told}',
    }.get(agent.name, "")
    assert said in str(launched)


@pytest.mark.parametrize("calls", [3, 25])
def test_an_agent_is_given_as_many_replies_as_the_experiment_says(calls: int, tmp_path: Path) -> None:
    put(tmp_path / "agents")
    given = replace(TOY_TASKS[0].assignment, variant=variant_of([f"calls={calls}"]))
    endless: list[str | Step] = [text_step("pass")] * 40
    with toy_bench(tmp_path) as bench, office(tmp_path, endless) as made:
        budget = MethodBudget(seconds=120.0).changed(given.variant)
        (proposal,) = External(agent=WALKER)(given, bench, made.model(), budget)
        (row,) = made.store.read(AgentRun)
    assert (proposal.calls, row.calls, row.stopped) == (calls, calls, "budget: calls")


@pytest.mark.parametrize(("calls", "rounds"), [(1, 0), (2, 1), (4, 1), (5, 2), (30, 27)])
def test_auto_code_rover_searches_within_its_replies(calls: int, rounds: int, tmp_path: Path) -> None:
    variant, model = variant_of([f"calls={calls}"]), Scripted(busy)
    with TOY_TASKS[0].bench(tmp_path) as bench:
        given = replace(assignment(), variant=variant)
        list(METHODS.named("auto_code_rover").run(given, bench, model, BUDGET.changed(variant)))
    assert len(model.asked) == calls
    assert sum(bool(one.tools) for one in model.asked) == rounds
    assert rounds == 0 or f"at most {rounds} rounds" in model.asked[0].messages[0].text


UNSENT = {
    "chat": {"reasoning_tokens"},
    "responses": {"reasoning_tokens", "seed", "stop"},
    "messages": {"seed", "verbosity"},
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", sorted(one for one in asdict(UNSAID) if one != "max_tokens"))
def test_an_option_that_a_model_is_not_sent_is_refused(dialect: str, name: str) -> None:
    value = {"stop": ("END",), "reasoning_effort": "low", "verbosity": "low"}.get(name, 1)
    options = Options(**{name: value})
    if name not in UNSENT[dialect]:
        refuse_unsent(replace(CARD, dialect=dialect), options)
        return
    with pytest.raises(UsageError, match=f"m is not sent {name}"):
        refuse_unsent(replace(CARD, dialect=dialect), options)


def test_a_temperature_is_refused_by_a_model_that_has_its_own() -> None:
    fixed = replace(CARD, fixed_temperature=True)
    with pytest.raises(UsageError, match="m is not sent temperature") as refused:
        refuse_unsent(fixed, Options(temperature=0.5, seed=3))
    assert refused.value.hint == "leave it out; it is sent seed"
    refuse_unsent(fixed, Options(seed=3))
    refuse_unsent(CARD, GREEDY)


def test_room_for_reasoning_needs_a_limit_beside_it() -> None:
    refuse_unsent(CARD, Options(reasoning_tokens=2_000, max_tokens=500))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"param": ("context=lucene",), "give": ("golden-patch", "modified-files")}, "context changes nothing"),
        ({"param": ("format=paper",), "script": True}, "format changes nothing"),
        ({"param": ("test_command=told",), "script": True}, "test_command changes nothing"),
    ],
)
def test_what_nothing_reads_beside_other_options_is_refused(more: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        GenerateRequest(snapshot="s", methods=("zero_shot",), models=("m",), **more)  # type: ignore[arg-type]


def asked_by(method: Method, *param: str) -> list[ModelQuestion]:
    variant, model = variant_of(param), Scripted(busy)
    given = replace(TOY_TASKS[0].assignment, variant=variant)
    list(method.run(given, QuickBench(tuple(TOY_TASKS[0].files), read), model, BUDGET.changed(variant)))
    return model.asked


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_a_method_has_the_models_own_limit_unless_an_experiment_sets_one(method: Method) -> None:
    plain, limited = asked_by(method), asked_by(method, "max_tokens=700")
    assert {question.options.max_tokens for question in plain} == {None}
    assert {question.options.max_tokens for question in limited} == {700}
    assert len({question.step for question in plain}) == 1 + (method.name in ("libro", "auto_code_rover"))


def test_nor_do_the_stages() -> None:
    assert MethodBudget().reply_tokens is AgentSettings().budget.reply_tokens is TdflowLimits().reply_tokens is None
    model = Scripted(lambda _: '{"signs": []}')
    assert judged(model, task_instance(), "patch")
    assert model.asked[0].options.max_tokens is None
