"""The flows that `prefect.yaml` deploys: each story with Prefect's tasks, its request as the parameters.

The stories do without Prefect, so that commands do not pay for its import. What a worker is told in `SWT_*` variables
decides where things are, in which sandbox code runs, and whether it may run where nothing isolates it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any

from prefect import Flow, flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from pydantic import Field

from flows.parameters import Parameter, parameters, read_request
from flows.prefect_board import PrefectTasks, final_state, listen, task_runner
from flows.run import Board, StoryRun
from flows.settings import Settings, settings_from
from flows.stories import STORIES, Story, teller
from tasks.adapters.store.warehouse import Store

TIMEOUT_S = 5 * 24 * 3600
"""Of a whole flow run: a month's rebuild or a large sweep takes days at most, and a run that hangs must not hold a
worker for ever."""


def tasks_of(settings: Settings) -> Board:
    """Where the units of a flow run are worked on."""
    return PrefectTasks(settings.workers)


def flow_of(story: Story[Any], board: Callable[[Settings], Board] = tasks_of) -> Flow[..., Any]:
    """The story as a flow, with its request as parameters."""

    def told(**values: Any) -> State[None]:
        listen()
        settings = settings_from(os.environ)
        request = read_request(story.request, values)
        run = StoryRun(story.name, str(flow_run.id), Store(settings.store), board(settings))
        summary = teller(story)(request, settings, run)
        return final_state(summary.exit_code, summary.text, getattr(summary, "link", ""))

    told.__signature__ = inspect.Signature([_shown(one) for one in parameters(story.request)])  # type: ignore[attr-defined]
    told.__name__ = told.__qualname__ = story.name
    told.__doc__ = _doc(story)
    return flow(
        name=story.name,
        flow_run_name=_title_of(story),
        task_runner=task_runner(),
        timeout_seconds=TIMEOUT_S,
        persist_result=False,
    )(told)


def _title_of(story: Story[Any]) -> Callable[[], str]:
    """What a flow run does, from its parameters."""

    def title() -> str:
        return str(read_request(story.request, dict(flow_run.parameters)).title)

    return title


def _shown(parameter: Parameter) -> inspect.Parameter:
    """One parameter, as Prefect reads it from a signature."""
    kind: Any = parameter.kind
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


def _doc(story: Story[Any]) -> str:
    """What the story does, and its parameters as Prefect reads them."""
    lines = [f"    {one.name}: {one.option.help}" for one in parameters(story.request)]
    return "\n".join([inspect.getdoc(story.request) or "", "", "Args:", *lines])


FLOWS = {story.name: flow_of(story) for story in STORIES}
evaluate, validate, strength, rebuild, localize, generate, sweep, report, freeze, withdraw = (
    FLOWS[name]
    for name in (
        *("evaluate", "validate", "strength", "rebuild", "localize", "generate", "sweep"),
        *("report", "freeze", "withdraw"),
    )
)
