"""A caller of a deployment chooses names, and no path or command of the worker's machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import make_dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import jsonschema
import pytest
from prefect.utilities.callables import parameter_schema
from pydantic import BaseModel, create_model
from typer.testing import CliRunner

from flows.deployments import FLOWS, check_password
from flows.interface.cli import app
from flows.interface.option_types import (
    FILE,
    INSTANCE,
    OUTPUT,
    REPOSITORY,
    SNAPSHOT,
    TEXT,
    Option,
    Parameter,
    Request,
    parameters,
)
from flows.interface.pipelines import PIPELINES, Pipeline
from flows.interface.requests import CANDIDATES, PARTIAL
from flows.interface.settings import settings_from
from tasks.domain.errors import BadInput, UsageError
from tasks.evaluate.intake import controls
from tasks.evaluate.intake import stored_candidates as stored

PATHS = ("../x", "/etc/passwd", "a/../../x", "..", ".ssh", "-x", "a\0b", "a\nb")
EACH = [(story, one) for story in PIPELINES for one in parameters(story.request)]
NAMED = {SNAPSHOT: "2026-11", INSTANCE: "pallets__flask-1", REPOSITORY: "pallets/flask"}
PARSED = {
    *("method", "methods", "model", "models", "tests_method", "judge", "param", "name", "part", "since", "grader"),
    *("reason", "tests"),
}
"""Parameters of free text: looked up among names, parsed or shown. A path does not belong here."""


def told(story: Pipeline[Any], one: Parameter) -> str:
    return f"{story.name}.{one.name}"


@pytest.mark.slow
@pytest.mark.parametrize(("story", "one"), EACH, ids=[told(*each) for each in EACH])
def test_no_parameter_of_a_deployment_is_a_path(story: Pipeline[Any], one: Parameter) -> None:
    """Each parameter of text says what it names; a path can only be the name of a file in the inbox or of an output."""
    if issubclass(one.kind, os.PathLike):
        assert one.option.text in (FILE, OUTPUT)
    if not issubclass(one.kind, str | os.PathLike) or hasattr(one.kind, "__members__"):
        assert one.option.text is None
        return
    assert one.option.text in (FILE, OUTPUT, SNAPSHOT, INSTANCE, REPOSITORY, TEXT)
    if one.option.text is TEXT:
        assert one.name in PARSED
        return
    good = NAMED.get(one.option.text, "a file-1.jsonl")
    assert accepted(story, one, good)
    for path in PATHS:
        assert not accepted(story, one, path), path
    for word in one.option.words:
        assert accepted(story, one, word + "METHOD" * word.endswith(":"))


def accepted(story: Pipeline[Any], one: Parameter, value: str) -> bool:
    """Whether both gates take a value: the server, by the schema, and the flow, by its signature."""
    given = [value] if one.many else value
    schema = parameter_schema(FLOWS[story.name]).model_dump_for_openapi()
    own = {"definitions": schema.get("definitions", {}), **schema["properties"][one.name]}
    server = jsonschema.Draft202012Validator(own).is_valid(given)
    annotation = FLOWS[story.name].fn.__signature__.parameters[one.name].annotation
    model: type[BaseModel] = create_model("Given", value=(annotation, ...))
    try:
        model(value=given)
    except ValueError:
        return False
    return server


def test_words_in_place_of_files_are_those_that_intake_knows() -> None:
    assert CANDIDATES == (controls.GOLDEN, controls.NOP, stored.PREFIX)
    assert PARTIAL == controls.PARTIAL


@pytest.mark.parametrize(
    ("kind", "option", "words"),
    [
        (str, Option(help="A file."), "does not say what its text names"),
        (Path, Option(help="A file."), "does not say what its text names"),
        (Path, Option(help="A file.", text=TEXT), "is a path"),
        (tuple[Path, ...], Option(help="A file.", text=SNAPSHOT), "is a path"),
    ],
    ids=["text", "path", "path as text", "paths as snapshots"],
)
def test_a_parameter_of_text_has_to_say_what_it_names(kind: Any, option: Option, words: str) -> None:
    request: Any = make_dataclass(
        "Asked", [("file", Annotated[kind, option])], bases=(Request,), frozen=True, kw_only=True
    )
    with pytest.raises(TypeError, match=words):
        parameters(request)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a worker, with one predictions file in its inbox and a secret beside it."""
    for name in ("STORE", "CACHE", "SCRATCH", "INBOX"):
        monkeypatch.setenv(f"SWT_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("SWT_DATABASE", str(tmp_path / "swt.duckdb"))
    (tmp_path / "inbox").mkdir()
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "inbox" / "link").symlink_to("../secret")
    os.mkfifo(tmp_path / "inbox" / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("flow", "parameters"),
    [
        ("evaluate", {"snapshot": "s", "candidates": ["{worker}/secret"]}),
        ("evaluate", {"snapshot": "s", "candidates": ["../secret"]}),
        ("evaluate", {"snapshot": "s", "candidates": ["link"]}),
        ("evaluate", {"snapshot": "s", "candidates": ["pipe"]}),
        ("fixes", {"snapshot": "s", "fixes": ["partial"], "tests": ["golden"], "kept": "{worker}/secret"}),
        ("fixes", {"snapshot": "s", "fixes": ["partial"], "tests": ["golden"], "kept": "../secret"}),
        ("fixes", {"snapshot": "s", "fixes": ["../secret"]}),
        ("fixes", {"snapshot": "s", "fixes": ["partial"], "tests": ["link"]}),
        ("strength", {"snapshot": "s", "fixes": ["{worker}/secret"]}),
        (
            "sweep",
            {"snapshot": "s", "methods": ["m"], "models": ["m"], "incorrect": "../secret", "give": ["incorrect-patch"]},
        ),
        ("rebuild", {"repositories_file": "{worker}/secret"}),
        ("rebuild", {"repositories_file": "pipe"}),
        ("rebuild", {"snapshot": "../../x"}),
        ("rebuild", {"repositories": ["x/.."]}),
        ("freeze", {"pool": "s", "snapshot": "../../x"}),
        ("report", {"out": "{worker}/secret"}),
        ("report", {"out": ".."}),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else value,
)
def test_a_flow_refuses_what_leads_elsewhere_though_no_server_checked_it(
    worker: Path, flow: str, parameters: dict[str, Any]
) -> None:
    asked = json.loads(json.dumps(parameters).replace("{worker}", str(worker)))
    before = sorted(worker.rglob("*"))
    state = FLOWS[flow].fn(**asked)
    assert state.name == "Failed"
    assert "error[bad-input]" in str(state.message)
    assert (worker / "secret").read_text() == "a secret"
    assert [path for path in sorted(worker.rglob("*")) if path not in before and path.name != "report"] == []


def test_a_rebuild_takes_no_source_of_mirrors_from_its_caller() -> None:
    """`git` was a template that git could read as `--upload-pack=COMMAND`."""
    assert "git" not in {one.name for one in parameters(FLOWS_BY_NAME["rebuild"].request)}
    done = CliRunner().invoke(app, ["rebuild", "--git", "--upload-pack=touch ran; : {repo}"])
    assert done.exit_code == 2


@pytest.mark.parametrize("status", [200, 401, 403, 500])
def test_a_worker_does_nothing_for_a_server_that_asks_for_no_password(status: int) -> None:
    with answering(status) as api:
        if status == 200:
            with pytest.raises(UsageError, match="asks for no password") as refused:
                check_password(api)
            assert "PREFECT_SERVER_API_AUTH_STRING" in refused.value.hint
        else:
            check_password(api)


def test_a_server_that_does_not_answer_is_not_judged() -> None:
    check_password("http://127.0.0.1:9/api")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """An API that answers everything so."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            server.shutdown()
            thread.join()


FLOWS_BY_NAME = {story.name: story for story in PIPELINES}


@pytest.mark.parametrize("template", ["--upload-pack=x; : {repo}", "ext::sh -c {repo}", "https://example.org/x"])
def test_the_worker_itself_may_not_say_a_command_for_a_source(template: str) -> None:
    with pytest.raises(BadInput, match="SWT_GIT"):
        settings_from({"SWT_GIT": template})
    assert settings_from({"SWT_GIT": ""}).git == ""
    assert settings_from({"SWT_GIT": "/mirrors/{repo}"}).git == "/mirrors/{repo}"


@pytest.mark.parametrize(
    "source", ["--upload-pack=touch {mark}; :", "ext::sh -c touch% {mark}", "http://example.org/a"]
)
def test_repo_add_checks_its_source(worker: Path, source: str) -> None:
    mark = worker / "ran"
    done = CliRunner().invoke(app, ["repo", "add", "owner/name", "--git", source.format(mark=mark)])
    assert isinstance(done.exception, BadInput)
    assert not mark.exists()
    wrong = CliRunner().invoke(app, ["repo", "add", "x/..", "--git", str(worker)])
    assert isinstance(wrong.exception, BadInput)


ROW = {
    "repo": "acme/box",
    "instance_id": "acme__box-1",
    "base_commit": "1" * 40,
    "patch": "-a\n+b\n",
    "test_patch": "-c\n+d\n",
    "problem_statement": "It breaks.",
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("repo", value) for value in ("x/..", "../x", "a/b/c", "/x", "a/.", "-a/b", "a b/c", "a__b/c", "a/b\n")),
        *(("version", value) for value in ("../../x", "/etc", "..", "a/b", "-1", "a\0b")),
        *(("instance_id", value) for value in ("a__../../x-1", "../a__b-1", "a__b/c-1", "a\0__b-1", "a__..-1")),
        ("base_commit", "--output=x"),
    ],
    ids=repr,
)
def test_a_row_whose_names_lead_elsewhere_is_refused_by_field(worker: Path, field: str, value: str) -> None:
    file = worker / "rows.jsonl"
    file.write_text(json.dumps(ROW | {field: value}) + "\n" + json.dumps(ROW | {"instance_id": "acme__box-2"}))
    done = CliRunner().invoke(app, ["import", str(file), "--snapshot", "s"])
    assert done.exit_code == 0
    (problem,) = [line for line in done.stderr.splitlines() if line.startswith("rows.jsonl:1: ")]
    assert f" {field} " in problem
    assert problem.endswith(": not taken")
    assert "1 instance" in done.stdout
    assert not (worker / "x").exists()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "argv",
    [
        ["import", "{pipe}", "--snapshot", "s"],
        ["submit", "check", "{pipe}", "--snapshot", "s"],
        ["evaluate", "{pipe}", "--snapshot", "s"],
        ["fixes", "{pipe}", "--snapshot", "s"],
        ["fixes", "partial", "--tests", "{pipe}", "--snapshot", "s"],
        ["strength", "{pipe}", "--snapshot", "s"],
        ["fixes", "partial", "--tests", "golden", "--kept", "{pipe}", "--snapshot", "s"],
        ["rebuild", "--repositories-file", "{pipe}", "--trusted"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", ["a named pipe", "a device", "a folder"])
def test_no_command_waits_for_a_file_that_is_none(worker: Path, argv: list[str], kind: str) -> None:
    (worker / "rows.jsonl").write_text(json.dumps(ROW))
    assert CliRunner().invoke(app, ["import", str(worker / "rows.jsonl"), "--snapshot", "s"]).exit_code == 0
    place = {"a named pipe": worker / "inbox" / "pipe", "a device": Path("/dev/zero"), "a folder": worker}[kind]
    done = CliRunner().invoke(app, [part.format(pipe=place) for part in argv])
    assert isinstance(done.exception, BadInput)
    assert f"is {kind} and not a file" in str(done.exception)
