"""`swt snapshot`: thin, typed commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from flows.settings import Settings, settings_from

snapshot_app = typer.Typer(no_args_is_help=True, help="Published sets of instances.")

Name = Annotated[str, typer.Argument(help="Name of a snapshot.")]


@snapshot_app.command("list")
def list_() -> None:
    """Every snapshot, with its size and what it follows.

    Example: swt snapshot list
    """
    from flows.snapshots import list_snapshots

    typer.echo(list_snapshots(_settings()))


@snapshot_app.command()
def show(name: Name) -> None:
    """The instances of a snapshot, with their facts and how their last validation went.

    Example: swt snapshot show 2026-11
    """
    from flows.snapshots import show_snapshot

    typer.echo(show_snapshot(_settings(), name))


@snapshot_app.command()
def diff(older: Name, newer: Name) -> None:
    """What was added, retired or repaired between two snapshots.

    Example: swt snapshot diff 2026-10 2026-11
    """
    from flows.snapshots import diff_snapshots

    typer.echo(diff_snapshots(_settings(), older, newer))


@snapshot_app.command()
def verify(name: Name) -> None:
    """Hold a published snapshot against its manifest; exit code 1 where the store has something else.

    Example: swt snapshot verify 2026-11
    """
    from flows.snapshots import verify as complaints

    wrong = complaints(_settings(), name)
    for line in wrong:
        typer.echo(line)
    typer.echo(f"{name}: {'not what was published' if wrong else 'as published'}", err=True)
    raise typer.Exit(1 if wrong else 0)


def _settings() -> Settings:
    return settings_from(os.environ)
