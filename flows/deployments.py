"""The flows that `prefect.yaml` deploys. Each pipeline is a flow with its request as parameters; each unit is a task
run.

Commands do not import this module, so they do not pay for importing Prefect. The `SWT_*` variables of a worker set the
paths, the sandbox, and whether code may run without isolation.

On Prefect's pages a flow run has the title of its request. A task run is named `<task> <unit>`, plus the unit's
configuration if the unit has several task runs. Task and unit are its tags. A failed task run is Failed, with the
reason as its message. `attempt` (engine/units.py) retries inside the task, so both executors use one policy.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import queue
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, cast
from uuid import UUID

import httpx
from prefect import Flow, flow, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.runtime import deployment, flow_run
from prefect.settings import get_current_settings
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from pydantic import Field

from flows.engine.shards import planned, share
from flows.engine.units import NOTHING, USAGE, Executor, Failure, FlowRun, R, S, TaskBatch, U, attempt, log
from flows.interface.option_types import FILE, Option, Parameter, files, parameters, read_names, read_request
from flows.interface.pipelines import PIPELINES, Pipeline, enter
from flows.interface.requests import SharedRequest
from flows.interface.settings import Settings, settings_here
from tasks.adapters.store.tables.store import Store
from tasks.adapters.text import in_words, printable
from tasks.domain.errors import InfrastructureError, SwtError, UsageError
from tasks.domain.retrying import Retries

AT_ONCE = 64
"""Maximum threads of a flow run. Tasks can have lower limits."""
STARTS = 4
"""Maximum submissions of one task run that Prefect ends before it begins."""
EVERY_S = 2.0
"""Minimum seconds between two updates of one progress artifact."""
SUMMARY = 2000
PROBE_S = 30.0
MESSAGE = 500
"""Maximum characters of a task run's state message; Prefect's pages show it as one block."""
SHARDS = Parameter(
    name="shards",
    kind=int,
    many=False,
    may_be_null=False,
    default=1,
    option=Option(
        help="Flow runs of this deployment that share the instances; 0: as many as take some minutes each.",
        least=0,
    ),
)
TIMEOUT_S = 5 * 24 * 3600
"""Timeout of a whole flow run. A monthly rebuild or a large sweep takes days at most, and a hanging run must not block
a worker for ever."""


def tasks_of(settings: Settings) -> Executor:
    """Returns the executor of a flow run."""
    return PrefectExecutor(settings.workers)


def flow_of(pipeline: Pipeline[Any], executor_of: Callable[[Settings], Executor] = tasks_of) -> Flow[..., Any]:
    """Returns a pipeline as a Prefect flow, with the fields of its request as parameters."""

    def told(**values: Any) -> State[None]:
        listen()
        shards = values.pop(SHARDS.name, 1)
        try:
            settings = settings_here(os.environ)
            if deployment.id and not settings.open_server:
                check_password(get_current_settings().api.url or "")
            request = read_names(pipeline.request, values, settings)
            if shards != 1 and request.runs:
                names = {one.name: values.get(one.name) for one in files(pipeline.request) if one.option.text is FILE}
                _share(request, settings, shards, names)
            run = FlowRun(pipeline.name, str(flow_run.id), Store(settings.store), executor_of(settings))
            summary = enter(pipeline, request, settings, run)
        except SwtError as error:
            return refused(error)
        return final_state(summary.exit_code, summary.text, getattr(summary, "link", ""))

    taken = [*parameters(pipeline.request), *([SHARDS] if issubclass(pipeline.request, SharedRequest) else [])]
    told.__signature__ = inspect.Signature([_keyword(one) for one in taken])  # type: ignore[attr-defined]
    told.__name__ = told.__qualname__ = pipeline.name
    told.__doc__ = _doc(pipeline, taken)
    return flow(
        name=pipeline.name,
        flow_run_name=_title_of(pipeline),
        task_runner=task_runner(),
        timeout_seconds=TIMEOUT_S,
        persist_result=False,
    )(told)


def check_password(api: str) -> None:
    """Raises `UsageError` if the Prefect server at this address answers without a password.

    Everyone who can reach such a server, also a web page in a browser, can run commands on its workers. If the server
    does not answer, the check logs a warning and passes.
    """
    try:
        answer = httpx.post(f"{api}/flow_runs/count", json={}, timeout=PROBE_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        log.warning("whether %s asks for a password is not known: %s", api, error)
        return
    if answer.is_success:
        hint = "set PREFECT_SERVER_API_AUTH_STRING (docs/automation.md), or SWT_OPEN_SERVER=1 on the worker"
        raise UsageError(f"the Prefect server at {api} asks for no password", hint=hint)


def _share(request: SharedRequest, settings: Settings, shards: int, names: Mapping[str, Any]) -> None:
    """Run the shards as other flow runs before this one starts. Files are passed on under the names that this run was
    given."""
    asked = planned(request, settings, shards)
    if len(asked) > 1:
        share(asked, names, Progress("shards", len(asked)).tell)


def _title_of(pipeline: Pipeline[Any]) -> Callable[[], str]:
    """Returns a function that computes the flow run's title from its parameters."""

    def title() -> str:
        return str(read_request(pipeline.request, dict(flow_run.parameters)).title)

    return title


def _keyword(parameter: Parameter) -> inspect.Parameter:
    """Returns one parameter in the form that Prefect reads from a signature."""
    kind: Any = str if parameter.kind is Path else parameter.kind
    if parameter.pattern:
        kind = Annotated[kind, Field(pattern=parameter.pattern)]
    if parameter.many:
        kind = list[kind]
    if parameter.option.least is not None:
        kind = Annotated[kind, Field(ge=parameter.option.least)]
    if parameter.may_be_null:
        kind = kind | None
    default = [] if parameter.many and not parameter.required else parameter.default
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=kind,
        default=empty if parameter.required else default,
    )


def _doc(pipeline: Pipeline[Any], taken: Iterable[Parameter]) -> str:
    """Returns the flow's docstring with the `Args` section from which Prefect reads parameter descriptions."""
    lines = [f"    {one.name}: {one.help_in_form}" for one in taken]
    return "\n".join([inspect.getdoc(pipeline.request) or "", "", "Args:", *lines])


@dataclass(frozen=True, slots=True)
class PrefectExecutor:
    """Runs each unit as one task run of the current flow run; at most `at_once` of them at a time."""

    at_once: int
    retries: Retries = field(default_factory=Retries)

    def work(self, round_: TaskBatch[U, R], settled: Callable[[int, R | Failure], None]) -> None:
        progress = Progress(round_.name, len(round_.units))
        at_once = min(round_.at_once or self.at_once, AT_ONCE)
        ended: _Ended[R] = _Ended()
        names = task_run_names(round_)
        waiting = iter(range(len(names)))
        under_way = done = 0
        while done < len(names):
            while under_way < at_once and (following := next(waiting, None)) is not None:
                self._submit(round_, following, names[following], ended)
                under_way += 1
            place = ended.wait()
            if place in ended.outcomes:
                settled(place, ended.outcomes.pop(place))
                under_way -= 1
                done += 1
                progress.tell(done)
            else:
                log.warning("%s: Prefect ended the task run before it began; here is another", names[place])
                self._submit(round_, place, names[place], ended)

    def _submit(self, round_: TaskBatch[U, R], place: int, name: str, ended: _Ended[R]) -> None:
        unit = round_.units[place]

        def body() -> State[None]:
            ended.begun.add(place)
            outcome = attempt(round_.function, unit, self.retries)
            ended.outcomes[place] = outcome
            if isinstance(outcome, Failure):
                return Failed(message=f"{outcome.error}: {outcome.detail}"[:MESSAGE])
            return Completed(message=in_words(outcome)[:MESSAGE])

        named = task(
            name=round_.name,
            task_run_name=name.replace("{", "").replace("}", ""),
            tags=[round_.name, unit.subject],
            cache_policy=NO_CACHE,
            persist_result=False,
        )(body)
        future = cast("PrefectFuture[None]", named.submit())
        future.add_done_callback(lambda future: ended.places.put((place, future)))

    def run_subflow(self, name: str, title: str, parameters: Mapping[str, Any], body: Callable[[str], S]) -> S:
        """Run `body` as a Prefect subflow."""
        told: list[S] = []

        def inner(request: dict[str, Any]) -> State[None]:  # noqa: ARG001 - shown by the server
            told.append(body(str(flow_run.id)))
            return final_state(told[0].exit_code, told[0].text)

        named = flow(name=name, flow_run_name=title, task_runner=task_runner(), persist_result=False)(inner)
        state = named(_shown(parameters), return_state=True)
        if not told:
            state.result(raise_on_failure=True)
        return told[0]


def task_run_names(round_: TaskBatch[U, R]) -> tuple[str, ...]:
    """Returns `<task> <unit>` for each unit, with its configuration (method and model, for example) if the unit occurs
    several times."""
    times = Counter(unit.subject for unit in round_.units)
    return tuple(
        f"{round_.name} {unit.subject}" + (f" ({unit.scope})" if times[unit.subject] > 1 else "")
        for unit in round_.units
    )


@dataclass(frozen=True, slots=True)
class _Ended(Generic[R]):
    """Collects task runs as they end, with their outcomes."""

    places: queue.SimpleQueue[tuple[int, PrefectFuture[Any]]] = field(default_factory=queue.SimpleQueue)
    outcomes: dict[int, R | Failure] = field(default_factory=dict)
    begun: set[int] = field(default_factory=set)
    """Indices of units whose function began. A task run that ends after that is not submitted again."""
    starts_failed: Counter[int] = field(default_factory=Counter)

    def wait(self) -> int:
        """Wait for the next task run that ends and return its index. Without an outcome the task run never began, and
        the caller may submit it again.

        Before a task begins, Prefect asks its server for a concurrency slot for each tag. A busy server answers 503,
        which ends the task run. If Prefect ends a task run after its unit began, this raises, as an interruption of
        threads would.
        """
        place, future = self.places.get()
        if place not in self.outcomes:
            self.starts_failed[place] += 1
            if place in self.begun or self.starts_failed[place] == STARTS:
                future.result(raise_on_failure=True)
                raise InfrastructureError(f"a task run ended without a result: {future.state.message}")
            time.sleep(self.starts_failed[place])
        return place


@dataclass(slots=True)
class Progress:
    """Shows the progress of a task as a Prefect artifact."""

    name: str
    total: int
    artifact: UUID | None = None
    told: float = 0.0
    said: int = -1

    def tell(self, done: int) -> None:
        if not self.is_new(done):
            return
        text, share = f"{self.name}: {done} of {self.total}", 100 * done / self.total
        if self.artifact:
            update_progress_artifact(self.artifact, progress=share, description=text)
        else:
            key = artifact_key(f"{flow_run.flow_name}-{self.name}")
            self.artifact = cast(UUID, create_progress_artifact(progress=share, key=key, description=text))

    def is_new(self, done: int) -> bool:
        """Whether to publish this count: it differs from the last one, and `EVERY_S` seconds have passed or all units
        are done."""
        now = time.monotonic()
        if done == self.said or (done < self.total and now - self.told < EVERY_S):
            return False
        self.told, self.said = now, done
        return True


class ServerLog(logging.Handler):
    """Sends our log lines to the server, under the current flow run or task run."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.inner = APILogHandler()

    def emit(self, record: logging.LogRecord) -> None:
        if FlowRunContext.get() or TaskRunContext.get():
            shown = copy(record)
            shown.msg, shown.args = printable(record.getMessage()), ()
            self.inner.emit(shown)


def listen() -> None:
    """Send log lines to the server from now on. A second call changes nothing."""
    if not any(isinstance(handler, ServerLog) for handler in log.handlers):
        log.addHandler(ServerLog())
        log.setLevel(logging.INFO)


def final_state(exit_code: int, text: str, link: str = "") -> State[None]:
    """Returns the final state of the flow run: Failed if the same command would exit with a code other than 0. Adds the
    summary as an artifact, and `link` as a link artifact."""
    if link:
        create_link_artifact(link=link, key=artifact_key(f"{flow_run.flow_name}-link"))
    key = artifact_key(f"{flow_run.flow_name}-summary")
    create_markdown_artifact(markdown=f"```\n{text}\n```", key=key, description=f"What {flow_run.name} came to.")
    if exit_code:
        return Failed(message=f"exit code {exit_code}\n{text}"[-SUMMARY:])
    return Completed(message=text[-SUMMARY:])


def refused(error: SwtError) -> State[None]:
    """Returns the state of a flow run that ends with an `SwtError`: the command's message without a traceback."""
    said = f"error[{error.slug}]: {error}" + (f"\nhint: {error.hint}" if error.hint else "")
    log.error("%s", said)
    code = USAGE if isinstance(error, UsageError) else NOTHING
    return Failed(message=f"exit code {code}\n{said}"[:SUMMARY])


def artifact_key(name: str) -> str:
    """Reduce a name to lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def task_runner() -> TaskRunner[PrefectFuture[Any]]:
    """Returns the task runner that all flows use."""
    return cast("TaskRunner[PrefectFuture[Any]]", ThreadPoolTaskRunner(max_workers=AT_ONCE))


def _shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the request of a subflow as JSON values, for Prefect's pages."""
    shown: dict[str, Any] = json.loads(json.dumps(dict(parameters), default=str))
    return shown


FLOWS = {pipeline.name: flow_of(pipeline) for pipeline in PIPELINES}
evaluate, validate, fixes, strength, rebuild, localize, repair, generate, sweep, report, rate, freeze, withdraw = (
    FLOWS[name]
    for name in (
        *("evaluate", "validate", "fixes", "strength", "rebuild", "localize", "repair", "generate", "sweep"),
        *("report", "rate", "freeze", "withdraw"),
    )
)
