"""One request, two faces: the command's options and the deployment's schema say the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml
from prefect.utilities.callables import parameter_schema

from flows.deployments import FLOWS, task_run_names
from flows.engine.units import TaskBatch
from flows.interface.cli import app
from flows.interface.option_types import Parameter, choices, parameters, read_request
from flows.interface.pipelines import HERE, PIPELINES, Pipeline
from flows.interface.requests import GenerateRequest, LocalizeRequest, RepairRequest, SharedRequest
from flows.interface.settings import PROJECT
from flows.interface.snapshot_requests import RebuildRequest
from flows.localize import agent_settings, bm25_settings
from tasks.adapters.agents.catalogue import AGENTS
from tasks.domain.errors import UsageError
from tasks.domain.generation import Give
from tasks.domain.localization import IssueReport, Locator, RetrieverKind
from tasks.domain.names import EnvId, InstanceId, InstanceKey, MethodName, ModelName, RepoName, Sha
from tasks.domain.window import since_when
from tasks.generate.task import MethodWork
from tasks.localize.rows import agent_plan, bm25_plan
from tasks.repair.settings import RepairSettings, TdflowLimits

OF_THE_WORKER = {name for name, *_ in HERE}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "string"}


def command(story: Pipeline[Any]) -> Any:
    """The command as typer builds it."""
    found: Any = typer.main.get_command(app)
    for name in filter(None, (story.group, story.name)):
        found = found.commands[name]
    return found


def chosen(option: Any) -> Any:
    """The enum behind an option."""
    bare = option.type_descriptor.annotation
    return next(iter(get_args(bare)), bare)


def schema(story: Pipeline[Any]) -> dict[str, Any]:
    return parameter_schema(FLOWS[story.name]).model_dump_for_openapi()


def plain(story_schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """What one value may be: references followed, null and lists left away."""
    kinds = [one for one in described.get("anyOf", [described]) if one.get("type") != "null"]
    (kind,) = kinds
    kind = kind.get("items", kind)
    if "$ref" in kind:
        return dict(story_schema["definitions"][kind["$ref"].rpartition("/")[2]])
    return dict(kind)


@pytest.mark.parametrize("story", PIPELINES, ids=lambda story: story.name)
def test_command_and_deployment_take_the_same(story: Pipeline[Any]) -> None:
    options = {one.name: one for one in command(story).params if one.name not in OF_THE_WORKER}
    properties = schema(story)["properties"]
    assert (properties.pop("shards", None) is not None) == issubclass(story.request, SharedRequest)
    asked = {one.name: one for one in parameters(story.request)}
    assert set(options) == set(properties) == set(asked)
    required = {name for name, one in asked.items() if one.required}
    assert {name for name, one in options.items() if one.required} == required
    assert set(schema(story).get("required", [])) == required
    for name, one in asked.items():
        said = one.option.help if options[name].nargs == -1 else one.help_of_flag
        assert (getattr(options[name], "help", None), properties[name]["description"]) == (said, one.help_in_form)
        check_kind(story, one, options[name], properties[name])


def check_kind(story: Pipeline[Any], one: Parameter, option: Any, described: dict[str, Any]) -> None:
    kind = plain(schema(story), described)
    assert bool(getattr(option, "multiple", False) or option.nargs == -1) == one.many
    assert (described.get("type") == "array") == one.many
    if choices(one):
        assert tuple(kind["enum"]) == choices(one)
        assert tuple(chosen(option)) == choices(one)
    elif one.kind in (date, datetime):
        assert kind["format"] == {date: "date", datetime: "date-time"}[one.kind]
    else:
        assert kind["type"] == JSON_TYPES[one.kind]
    if one.option.least is not None:
        bounded = [part for part in described.get("anyOf", [described]) if "minimum" in part]
        assert [part["minimum"] for part in bounded] == [one.option.least]
        assert option.min == one.option.least
    if not one.required and not one.many and one.default is not None:
        assert str(option.default) == str(described["default"]) == str(one.default)


def test_every_story_has_a_deployment_and_every_deployment_a_story() -> None:
    deployed = yaml.safe_load((PROJECT / "prefect.yaml").read_text())["deployments"]
    assert {one["entrypoint"] for one in deployed} == {f"flows.deployments.{story.name}" for story in PIPELINES}
    for one in deployed:
        story = next(story for story in PIPELINES if one["entrypoint"].endswith(f".{story.name}"))
        assert set(one.get("parameters", {})) <= schema(story)["properties"].keys()


def test_a_request_is_read_from_what_callers_give() -> None:
    given = {"methods": ["a", "a"], "models": ["m"], "snapshot": "s", "until": datetime(2026, 1, 2), "months": 3}
    request = read_request(GenerateRequest, {**given, "give": [Give.TEST_FILE], "limit": None})
    assert (request.methods, request.models, request.until, request.limit) == (("a",), ("m",), date(2026, 1, 2), None)
    assert (request.give, request.instances) == ((Give.TEST_FILE,), ())
    assert request.title == "generate m on s"


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("", None),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
        ("2026-01-02T03:00:00+01:00", datetime(2026, 1, 2, 2, tzinfo=UTC)),
        ("2 months", datetime(2026, 1, 13, tzinfo=UTC)),
        ("1 week", datetime(2026, 3, 9, tzinfo=UTC)),
        ("45 days", datetime(2026, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_window_is_a_day_or_a_span(said: str, moment: datetime | None) -> None:
    assert since_when(said, datetime(2026, 3, 16, 5, 4, tzinfo=UTC)) == moment


def test_a_window_that_nobody_understands_is_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="lately"):
        RebuildRequest(since="lately")


@pytest.mark.parametrize("argv", [["--help"], ["query"], ["sweep", "--help"]], ids=" ".join)
def test_commands_do_without_what_is_heavy(argv: list[str]) -> None:
    """Prefect's import alone would take a second."""
    code = (
        "import sys; from flows.interface.cli import main\n"
        f"sys.argv = ['swt', *{argv!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('prefect', 'pandas') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PROJECT)
    assert said.stdout.splitlines()[-1] == "[]"


def test_a_task_run_is_called_after_its_subject_and_told_from_others_of_it() -> None:
    units = [
        MethodWork(
            snapshot="demo",
            instance_id=InstanceId(name),
            env_id=EnvId("e"),
            method=MethodName(method),
            model=ModelName("m"),
        )
        for name, method in (("a", "zero_shot"), ("a", "agent"), ("b", "agent"))
    ]
    names = task_run_names(TaskBatch(name="generation", function=str, units=units))
    assert names == (
        "generation a (demo zero_shot m unit_test)",
        "generation a (demo agent m unit_test)",
        "generation b",
    )


def test_a_flow_that_cannot_be_told_fails_with_what_the_command_line_would_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STORE", "CACHE", "DATABASE", "SCRATCH"):
        monkeypatch.setenv(f"SWT_{name}", str(tmp_path / name.lower()))
    missing = FLOWS["evaluate"].fn(candidates=["golden"], snapshot="nowhere")
    assert (missing.name, missing.message.splitlines()[0]) == ("Failed", "exit code 2")
    assert missing.message.splitlines()[1].startswith("error[not-found]: ")
    wrong = FLOWS["localize"].fn(snapshot="demo", method=Locator.AGENT)
    assert wrong.message.splitlines()[2] == "hint: --method agent --model NAME"


SHARED = {"snapshot", "instances", "method", "budget_usd", "budget_calls"}
"""Parameters of a request that are no method's."""
REPORT = IssueReport(
    instance_key=InstanceKey("k"), repo=RepoName("a/b"), base_commit=Sha("0" * 40), statement="It breaks."
)


def located(**more: Any) -> object:
    """What decides a localization."""
    request = LocalizeRequest(snapshot="s", **more)
    if request.method is Locator.BM25:
        return bm25_plan(REPORT, bm25_settings(request))
    return agent_plan(REPORT, agent_settings(request), request.model)


@pytest.mark.parametrize("more", [{"method": Locator.BM25}, {"method": Locator.AGENT, "model": "m"}], ids=str)
def test_every_parameter_of_a_localizer_changes_what_is_made_or_is_refused(more: dict[str, Any]) -> None:
    values = {"retriever": RetrieverKind.LUCENE, "model": "other", "with_tests": True, "top_n": 3}
    assert values.keys() == {one.name for one in fields(LocalizeRequest)} - SHARED
    for name, value in values.items():
        try:
            changed = located(**more | {name: value})
        except UsageError:
            assert more["method"] is Locator.BM25
            assert name in ("model", "top_n")
        else:
            assert changed != located(**more), name


def repaired(**more: Any) -> object:
    """What decides an attempt beside the instance."""
    request = RepairRequest(**{"snapshot": "s", "model": "m"} | more)
    how = RepairSettings(tdflow=TdflowLimits(iterations=request.iterations))
    return request.model, request.tests, how.method(request.tests, request.roles, request.method), how.tdflow.facts


@pytest.mark.parametrize("method", ["tdflow", *(agent.name for agent in AGENTS)])
def test_every_parameter_of_a_repairer_changes_what_is_made_or_is_refused(method: str) -> None:
    values = {"model": "other", "tests": "generate", "iterations": 3, "param": ("explore_files=other",)}
    assert values.keys() == {one.name for one in fields(RepairRequest)} - SHARED
    for name, value in values.items():
        if method == "tdflow" or name == "model":
            assert repaired(method=method, **{name: value}) != repaired(method=method), name
        else:
            with pytest.raises(UsageError, match=f"{method} has no {name}") as refused:
                repaired(method=method, **{name: value})
            assert refused.value.hint.startswith(f"{method} takes model, tests")
    with pytest.raises(UsageError, match="has no param" if method != "tdflow" else "no sub-agent 'calls'"):
        repaired(method=method, param=("calls=30",))
