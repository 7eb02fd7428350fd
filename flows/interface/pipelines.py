"""Every story: its name, what it is asked for, and what tells it; and the commands that follow from this.

Deployments follow from it as well (deployments.py).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from importlib import import_module
from typing import Annotated, Any, Generic, NoReturn

import typer

from flows.interface.options import ARGUMENT, Parameter, Q, parameters, read_request
from flows.interface.parameters import (
    EvaluationRequest,
    FixesRequest,
    GenerateRequest,
    LocalizeRequest,
    RepairRequest,
    StrengthRequest,
    SweepRequest,
    ValidationRequest,
)
from flows.interface.settings import settings_here
from flows.interface.snapshot_parameters import (
    PublishRequest,
    RateRequest,
    RebuildRequest,
    ReportRequest,
    WithdrawRequest,
)
from tasks.adapters.text import say
from tasks.domain.outcome import SandboxKind

# Without boxes: drawing them takes half of the time of `swt --help`, for rich and its reader of Markdown.
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
"""What the command line may say differently from the settings of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline(Generic[Q]):
    """One thing that the product does, as a command and as a deployment."""

    name: str
    """Of the command, and of the flow."""
    request: type[Q]
    tells: str
    """`module:function` that takes the request, settings and the run."""
    example: str
    group: str = ""
    """The command's group."""


STORIES: tuple[Pipeline[Any], ...] = (
    Pipeline(
        name="evaluate",
        request=EvaluationRequest,
        tells="flows.evaluate:evaluate",
        example="swt evaluate preds.jsonl golden nop --snapshot lite",
    ),
    Pipeline(
        name="validate",
        request=ValidationRequest,
        tells="flows.validate:validate",
        example="swt validate --snapshot lite --instances pallets__flask-4045",
    ),
    Pipeline(
        name="fixes",
        request=FixesRequest,
        tells="flows.judge_repairs:fixes",
        example="swt fixes repairs.jsonl --snapshot lite --tests preds.jsonl --kept kept.jsonl",
    ),
    Pipeline(
        name="strength",
        request=StrengthRequest,
        tells="flows.judge_repairs:strength",
        example="swt strength failed-repairs.jsonl partial --snapshot lite",
    ),
    Pipeline(
        name="rebuild",
        request=RebuildRequest,
        tells="flows.rebuild:rebuild",
        example="swt rebuild --repos pallets/flask --since '2 months' --limit 20 --hours 12",
    ),
    Pipeline(
        name="localize",
        request=LocalizeRequest,
        tells="flows.localize:localize",
        example="swt localize --snapshot lite --retriever lucene",
    ),
    Pipeline(
        name="repair",
        request=RepairRequest,
        tells="flows.repair:repair",
        example="swt repair --snapshot lite --model gpt-4.1-2025-04-14 --instances pallets__flask-4045",
    ),
    Pipeline(
        name="generate",
        request=GenerateRequest,
        tells="flows.sweep:sweep_or_plan",
        example="swt generate --method zero_shot_plus --model gpt-4o-2024-08-06 --snapshot lite --limit 20",
    ),
    Pipeline(
        name="sweep",
        request=SweepRequest,
        tells="flows.sweep:sweep_or_plan",
        example="swt sweep --method zero_shot_plus --method agent --model gpt-4o-2024-08-06 --snapshot lite "
        "--budget-usd 20",
    ),
    Pipeline(
        name="report",
        request=ReportRequest,
        tells="flows.report:report",
        example="swt report --snapshot lite --out public",
    ),
    Pipeline(
        name="rate",
        request=RateRequest,
        tells="flows.report:rate_methods",
        example="swt rate --snapshot 2026-10 --snapshot 2026-11",
    ),
    Pipeline(
        name="withdraw",
        request=WithdrawRequest,
        tells="flows.snapshots:withdraw",
        example="swt snapshot withdraw 2026-11 --reason 'collected without a network'",
        group="snapshot",
    ),
    Pipeline(
        name="freeze",
        request=PublishRequest,
        tells="flows.snapshots:freeze",
        example="swt snapshot freeze lite --as lite-validated",
        group="snapshot",
    ),
)


def command_of(story: Pipeline[Any]) -> Callable[..., None]:
    """A command with the story's options."""

    def command(**values: Any) -> None:
        from flows.engine.units import ThreadExecutor, begin
        from tasks.adapters.store.rows.store import Store

        settings = settings_here(os.environ).overridden(**{name: values.pop(name) for name, *_ in HERE})
        request = read_request(story.request, values)
        tell = teller(story)
        board, store = ThreadExecutor(settings.workers), Store(settings.store)
        summary = begin(story.name, request.title, store, board, lambda run: tell(request, settings, run))
        end(summary.text, summary.exit_code)

    shown = [_shown(parameter) for parameter in parameters(story.request)]
    here = [_keyword(name, kind, default) for name, kind, default in HERE]
    command.__signature__ = inspect.Signature([*shown, *here])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in (*shown, *here)}
    command.__name__ = story.name
    command.__doc__ = help_of(story)
    return command


def help_of(story: Pipeline[Any]) -> str:
    """What the story does, and an example."""
    return f"{inspect.getdoc(story.request)}\n\nExample: {story.example}"


def teller(story: Pipeline[Any]) -> Callable[..., Any]:
    """The story's function; what it needs is imported now."""
    module, _, function = story.tells.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def add_stories(app: typer.Typer, groups: dict[str, typer.Typer], stories: tuple[Pipeline[Any], ...]) -> None:
    """Every story as a command, those of a group below it."""
    for story in stories:
        (groups[story.group] if story.group else app).command(story.name)(command_of(story))


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
    # A switch that is off has one name; one that is on needs a second to be turned off with.
    flag = f"{flag}/--no-{flag.removeprefix('--')}" if parameter.default is True else flag
    formats = {date: [DAY], datetime: MOMENTS}.get(parameter.kind)
    return typer.Option(flag, help=parameter.help_of_flag, min=option.least, formats=formats)


def end(text: str, exit_code: int) -> NoReturn:
    """Say what it came to and end the command with `exit_code`."""
    say(text)
    raise typer.Exit(exit_code)
