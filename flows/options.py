"""What commands share: their options, and how they end."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from tasks.domain.outcome import SandboxKind

SnapshotOption = Annotated[str, typer.Option("--snapshot", help="Name of the snapshot.")]
InstancesOption = Annotated[list[str] | None, typer.Option(help="Only these instance ids; may be repeated.")]
SandboxOption = Annotated[SandboxKind | None, typer.Option(help="Where code runs; default: SWT_SANDBOX or auto.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="Test processes at once.")]
TrustedOption = Annotated[bool, typer.Option("--trusted", help="The code may run where nothing isolates it.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]


def say(problems: tuple[str, ...], text: str) -> None:
    """Problems to standard error, the text to standard output."""
    for problem in problems:
        typer.echo(problem, err=True)
    typer.echo(text)


def end(problems: tuple[str, ...], text: str, exit_code: int) -> NoReturn:
    """Say both and end the command with `exit_code`."""
    say(problems, text)
    raise typer.Exit(exit_code)
