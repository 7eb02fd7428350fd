"""The list of all flows: name, request and function of each; and the commands derived from it.

deployments.py derives the Prefect deployments from the same list.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn

import typer

from flows.interface.option_types import ARGUMENT, Parameter, Q, parameters, read_request
from flows.interface.requests import (
    EvaluationRequest,
    FixesRequest,
    GenerateRequest,
    LocalizeRequest,
    RepairRequest,
    StrengthRequest,
    SweepRequest,
    ValidationRequest,
)
from flows.interface.settings import Settings, settings_here
from flows.interface.snapshot_requests import (
    PublishRequest,
    RateRequest,
    RebuildRequest,
    ReportRequest,
    WithdrawRequest,
)
from tasks.adapters.text import say
from tasks.domain.outcome import SandboxKind

if TYPE_CHECKING:
    from flows.engine.units import Executor, FlowRun

# rich is off: it takes half of the time of `swt --help`, for its boxes and its Markdown reader.
plain = partial(typer.Typer, no_args_is_help=True, rich_markup_mode=None, context_settings={"max_content_width": 120})
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]

DAY = "%Y-%m-%d"
MOMENTS = [DAY, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

SandboxOption = Annotated[SandboxKind | None, typer.Option(help="Where code runs; default: SWT_SANDBOX or auto.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="Units of work at once.")]
TrustedOption = Annotated[bool, typer.Option("--trusted", help="The code may run where nothing isolates it.")]

HERE = (
    ("sandbox", SandboxOption, None),
    ("workers", WorkersOption, None),
    ("trusted", TrustedOption, False),
)
"""Command-line options that override the settings of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline(Generic[Q]):
    """One flow, available as a command and as a deployment."""

    name: str
    """Name of the command and of the flow."""
    request: type[Q]
    entry: str
    """`module:function`; the function takes the request, the settings and the run."""
    example: str
    group: str = ""
    """Group of the command, if any."""
    updates_views: bool = True
    """Whether the views are updated after the flow. False if the flow updates them itself, or writes no rows."""


PIPELINES: tuple[Pipeline[Any], ...] = (
    Pipeline(
        name="evaluate",
        request=EvaluationRequest,
        entry="flows.evaluate:evaluate",
        example="swt evaluate preds.jsonl golden nop --snapshot lite",
    ),
    Pipeline(
        name="validate",
        request=ValidationRequest,
        entry="flows.validate:validate",
        example="swt validate --snapshot lite --instances pallets__flask-4045",
    ),
    Pipeline(
        name="fixes",
        request=FixesRequest,
        entry="flows.judge_repairs:fixes",
        example="swt fixes repairs.jsonl --snapshot lite --tests preds.jsonl --kept kept.jsonl",
        updates_views=False,
    ),
    Pipeline(
        name="strength",
        request=StrengthRequest,
        entry="flows.judge_repairs:strength",
        example="swt strength failed-repairs.jsonl partial --snapshot lite",
        updates_views=False,
    ),
    Pipeline(
        name="rebuild",
        request=RebuildRequest,
        entry="flows.rebuild:rebuild",
        example="swt rebuild --repos pallets/flask --since '2 months' --limit 20 --hours 12",
    ),
    Pipeline(
        name="localize",
        request=LocalizeRequest,
        entry="flows.localize:localize",
        example="swt localize --snapshot lite --retriever lucene",
        updates_views=False,
    ),
    Pipeline(
        name="repair",
        request=RepairRequest,
        entry="flows.repair:repair",
        example="swt repair --snapshot lite --model gpt-4.1-2025-04-14 --instances pallets__flask-4045",
        updates_views=False,
    ),
    Pipeline(
        name="generate",
        request=GenerateRequest,
        entry="flows.sweep:sweep_or_plan",
        example="swt generate --method zero_shot_plus --model gpt-4o-2024-08-06 --snapshot lite --limit 20",
        updates_views=False,
    ),
    Pipeline(
        name="sweep",
        request=SweepRequest,
        entry="flows.sweep:sweep_or_plan",
        example="swt sweep --method zero_shot_plus --method agent --model gpt-4o-2024-08-06 --snapshot lite "
        "--budget-usd 20",
        updates_views=False,
    ),
    Pipeline(
        name="report",
        request=ReportRequest,
        entry="flows.report:report",
        example="swt report --snapshot lite --out public",
        updates_views=False,
    ),
    Pipeline(
        name="rate",
        request=RateRequest,
        entry="flows.report:rate_methods",
        example="swt rate --snapshot 2026-10 --snapshot 2026-11",
        updates_views=False,
    ),
    Pipeline(
        name="withdraw",
        request=WithdrawRequest,
        entry="flows.snapshots:withdraw",
        example="swt snapshot withdraw 2026-11 --reason 'collected without a network'",
        group="snapshot",
    ),
    Pipeline(
        name="freeze",
        request=PublishRequest,
        entry="flows.snapshots:freeze",
        example="swt snapshot freeze lite --as lite-validated",
        group="snapshot",
    ),
)


def command_of(pipeline: Pipeline[Any]) -> Callable[..., None]:
    """Returns a command with the options of the flow's request."""

    def command(**values: Any) -> None:
        settings = settings_here(os.environ).overridden(**{name: values.pop(name) for name, *_ in HERE})
        request = read_request(pipeline.request, values)
        summary = run_flow(request, settings)
        end(summary.text, summary.exit_code)

    shown = [_shown(parameter) for parameter in parameters(pipeline.request)]
    here = [_keyword(name, kind, default) for name, kind, default in HERE]
    command.__signature__ = inspect.Signature([*shown, *here])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in (*shown, *here)}
    command.__name__ = pipeline.name
    command.__doc__ = help_of(pipeline)
    return command


def run_flow(request: Any, settings: Settings, executor: Executor | None = None, **more: Any) -> Any:
    """Run the flow of this type of request, on threads of this process unless the caller passes an executor.

    Returns the flow's summary. `more` goes to the flow's function, for example how often validations repeat.
    """
    from flows.engine.units import ThreadExecutor, start_flow
    from tasks.adapters.store.tables.store import Store

    pipeline = next(one for one in PIPELINES if one.request is type(request))
    executor, store = executor or ThreadExecutor(settings.workers), Store(settings.store)
    body = partial(enter, pipeline, request, settings, **more)
    return start_flow(pipeline.name, request.title, store, executor, body)


def enter(pipeline: Pipeline[Any], request: Any, settings: Settings, run: FlowRun, **more: Any) -> Any:
    """Run the flow's function inside its run, then update the views if needed. Returns the summary."""
    summary = entry_point(pipeline)(request, settings, run, **more)
    if pipeline.updates_views:
        from tasks.adapters.store.views.database import ensure_views

        ensure_views(settings.store, settings.database, settings.sql)
    return summary


def help_of(pipeline: Pipeline[Any]) -> str:
    """Returns the flow's help text with an example."""
    return f"{inspect.getdoc(pipeline.request)}\n\nExample: {pipeline.example}"


def entry_point(pipeline: Pipeline[Any]) -> Callable[..., Any]:
    """Import and return the flow's function."""
    module, _, function = pipeline.entry.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def add_pipelines(app: typer.Typer, groups: dict[str, typer.Typer], pipelines: tuple[Pipeline[Any], ...]) -> None:
    """Add every flow as a command to the app or to its group."""
    for pipeline in pipelines:
        (groups[pipeline.group] if pipeline.group else app).command(pipeline.name)(command_of(pipeline))


def _shown(parameter: Parameter) -> inspect.Parameter:
    kind = _kind(parameter)
    if parameter.required:
        return _keyword(parameter.name, Annotated[kind, _info(parameter)], inspect.Parameter.empty)
    default = None if parameter.many else parameter.default
    optional = kind | None if parameter.many or parameter.may_be_null else kind
    return _keyword(parameter.name, Annotated[optional, _info(parameter)], default)


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _kind(parameter: Parameter) -> Any:
    kind = datetime if parameter.kind is date else parameter.kind
    return list[kind] if parameter.many else kind  # type: ignore[valid-type]


def _info(parameter: Parameter) -> Any:
    option = parameter.option
    if option.flag == ARGUMENT:
        return typer.Argument(help=option.help)
    flag = option.flag or "--" + parameter.name.replace("_", "-")
    # A switch that is on by default needs a second name that turns it off.
    flag = f"{flag}/--no-{flag.removeprefix('--')}" if parameter.default is True else flag
    formats = {date: [DAY], datetime: MOMENTS}.get(parameter.kind)
    return typer.Option(flag, help=parameter.help_of_flag, min=option.least, formats=formats)


def end(text: str, exit_code: int) -> NoReturn:
    """Print the text and exit with `exit_code`."""
    say(text)
    raise typer.Exit(exit_code)
