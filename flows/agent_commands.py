"""`swt agents`: agents of other people, each in an environment of its own."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from flows.options import end
from flows.settings import settings_from

agents_app = typer.Typer(no_args_is_help=True, help="Agents of other people.")


@agents_app.command("list")
def agents_list() -> None:
    """Which agents there are, in which release, and where they are installed.

    Example: swt agents list
    """
    from flows.agents import list_agents

    typer.echo(list_agents(settings_from(os.environ)))


@agents_app.command("install")
def agents_install(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names from `swt agents list`; all, where none is given.")
    ] = None,
) -> None:
    """Install agents in the releases that are pinned; nothing goes into our own environment.

    Example: swt agents install aider mini_swe_agent
    """
    from flows.agents import install_agents

    done = install_agents(settings_from(os.environ), names or (), os.environ)
    for problem in done.problems:
        typer.echo(problem, err=True)
    end(done.text, done.exit_code)
