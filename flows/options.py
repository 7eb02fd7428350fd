"""Commands made of requests: their options, and how they end."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from datetime import date, datetime
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from flows.parameters import ARGUMENT, Parameter, parameters, read_request
from flows.settings import Settings, settings_from
from flows.stories import Story
from tasks.domain.outcome import SandboxKind

DAY = "%Y-%m-%d"
MOMENTS = [DAY, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

SandboxOption = Annotated[SandboxKind | None, typer.Option(help="Where code runs; default: SWT_SANDBOX or auto.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="Units of work at once.")]
TrustedOption = Annotated[bool, typer.Option("--trusted", help="The code may run where nothing isolates it.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]

HERE = (
    ("sandbox", SandboxOption, None),
    ("workers", WorkersOption, None),
    ("trusted", TrustedOption, False),
)
"""What the command line may say differently from the settings of this machine."""


def command_of(story: Story[Any]) -> Callable[..., None]:
    """A command with the story's options."""

    def command(**values: Any) -> None:
        from flows.run import Threads, begin
        from tasks.adapters.store.warehouse import Store

        settings = settings_from(os.environ).overridden(**{name: values.pop(name) for name, *_ in HERE})
        request = read_request(story.request, values)
        tell = teller(story)
        board, store = Threads(settings.workers), Store(settings.store)
        summary = begin(story.name, request.title, store, board, lambda run: tell(request, settings, run))
        end(summary.text, summary.exit_code)

    shown = [_shown(parameter) for parameter in parameters(story.request)]
    here = [_keyword(name, kind, default) for name, kind, default in HERE]
    command.__signature__ = inspect.Signature([*shown, *here])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in (*shown, *here)}
    command.__name__ = story.name
    command.__doc__ = help_of(story)
    return command


def help_of(story: Story[Any]) -> str:
    """What the story does, and an example."""
    return f"{inspect.getdoc(story.request)}\n\nExample: {story.example}"


def teller(story: Story[Any]) -> Callable[..., Any]:
    """The story's function; what it needs is imported now."""
    module, _, function = story.tells.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def add_stories(app: typer.Typer, groups: dict[str, typer.Typer], stories: tuple[Story[Any], ...]) -> None:
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
    return typer.Option(flag, help=option.help, min=option.least, formats=formats)


def end(text: str, exit_code: int) -> NoReturn:
    """Say what it came to and end the command with `exit_code`."""
    typer.echo(text)
    raise typer.Exit(exit_code)


def here() -> Settings:
    """The settings of this machine."""
    return settings_from(os.environ)
