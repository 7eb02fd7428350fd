"""`swt dev`: what helps while working on the project. No part of a benchmark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.options import PortOption

dev_app = typer.Typer(no_args_is_help=True, help="Servers for development and tests.")


@dev_app.callback()
def dev() -> None:
    """Servers for development and tests."""


@dev_app.command("github")
def github(
    repo: Annotated[list[str], typer.Option("--repo", help="OWNER/NAME; may be repeated.")],
    git: Annotated[
        list[Path] | None, typer.Option("--git", help="Its git repository, one for each --repo; default: the mirror.")
    ] = None,
    issues: Annotated[
        list[str] | None, typer.Option("--issues", help="JSONL of its issues, one for each --repo; - where none.")
    ] = None,
    licenses: Annotated[
        list[str] | None, typer.Option("--license", help="Its SPDX id, one for each --repo; - where unknown.")
    ] = None,
    until: Annotated[str, typer.Option(help="Show history up to this date; default: all of it.")] = "",
    faults: Annotated[str, typer.Option(help="For example 502=0.1,partial=0.05,moving=0.1,seed=3")] = "",
    port: PortOption = 8431,
) -> None:
    """Serve git histories as GitHub would serve their pull requests and issues, with faults on demand.

    Any token will do. `curl -d '{"until": "2026-02-01"}' …/dev` releases more history, `curl …/dev` counts requests.

    Example: swt dev github --repo pallets/flask --git ~/src/flask --until 2026-01-01 --faults 502=0.1
    """
    from flows.dev_github import GitHubRequest, serve_github
    from flows.settings import settings_from

    request = GitHubRequest(
        repos=tuple(repo),
        git=tuple(git or ()),
        issues=tuple(issues or ()),
        licenses=tuple(licenses or ()),
        until=until,
        faults=faults,
        port=port,
    )
    serve_github(settings_from(os.environ), request, say=lambda text: typer.echo(text, err=True))
