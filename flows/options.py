"""What commands share: their options, and how they end."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NoReturn, TypeVar

import typer

from tasks.domain.outcome import SandboxKind

SnapshotOption = Annotated[str, typer.Option("--snapshot", help="Name of the snapshot.")]
InstancesOption = Annotated[list[str] | None, typer.Option(help="Only these instance ids; may be repeated.")]
SandboxOption = Annotated[SandboxKind | None, typer.Option(help="Where code runs; default: SWT_SANDBOX or auto.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="Test processes at once.")]
TrustedOption = Annotated[bool, typer.Option("--trusted", help="The code may run where nothing isolates it.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]
UsdOption = Annotated[float | None, typer.Option(min=0, help="Stop when so many dollars are spent.")]
CallsOption = Annotated[int | None, typer.Option(min=0, help="Stop when so many model calls are paid for.")]

Choice = TypeVar("Choice", bound=StrEnum)


def say(problems: tuple[str, ...], text: str) -> None:
    """Problems to standard error, the text to standard output."""
    for problem in problems:
        typer.echo(problem, err=True)
    typer.echo(text)


def end(problems: tuple[str, ...], text: str, exit_code: int) -> NoReturn:
    """Say both and end the command with `exit_code`."""
    say(problems, text)
    raise typer.Exit(exit_code)


def one_of(kind: type[Choice], text: str, message: str) -> Choice:
    """The choice that `text` names, else `UsageError` with `message`."""
    from tasks.domain.errors import UsageError

    if text not in list(kind):
        raise UsageError(message, hint="one of " + ", ".join(kind))
    return kind(text)
