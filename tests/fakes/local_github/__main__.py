"""Serves the local GitHub until it is interrupted: `python -m tests.fakes.local_github --help`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.interface.cli import run_command
from flows.interface.pipelines import Port
from flows.interface.settings import settings_from
from tasks.adapters.text import say
from tests.fakes.local_github.command import GitHubRequest, serve_github


def main(
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
    port: Port = 8431,
) -> None:
    """Serve git histories as GitHub would serve their pull requests and issues, with faults on demand.

    Any token is accepted. `curl -d '{"until": "2026-02-01"}' …/dev` releases more history; `curl …/dev` counts
    requests.

    Example: python -m tests.fakes.local_github --repo pallets/flask --git ~/src/flask --until 2026-01-01
    """
    request = GitHubRequest(
        repos=tuple(repo),
        git=tuple(git or ()),
        issues=tuple(issues or ()),
        licenses=tuple(licenses or ()),
        until=until,
        faults=faults,
        port=port,
    )
    where = settings_from(os.environ)
    serve_github(where.places.mirrors, where.scratch, request, say=lambda text: say(text, err=True))


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
