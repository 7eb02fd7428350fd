"""`swt dev`: servers for development and tests, no part of a benchmark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flows.interface.pipelines import Port, plain
from flows.interface.settings import settings_from
from tasks.adapters.text import say

dev_app = plain(help="Servers for development and tests, no part of a benchmark.")


@dev_app.command("github")
def dev_github(
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

    Any token will do. `curl -d '{"until": "2026-02-01"}' …/dev` releases more history, `curl …/dev` counts requests.

    Example: swt dev github --repo pallets/flask --git ~/src/flask --until 2026-01-01 --faults 502=0.1
    """
    from tasks.rehearsal.local_github.opening import GitHubRequest, serve_github

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


@dev_app.command("model")
def dev_model(
    script: Annotated[Path, typer.Option("--script", help="JSON list of steps (tasks/rehearsal/scripted_provider).")],
    port: Port = 8399,
    key: Annotated[str, typer.Option(help="Refuse callers that have another key; default: take all.")] = "",
) -> None:
    """Serve recorded replies as a provider of models would, in three dialects, with faults on demand.

    The model `scripted` finds it by itself on the default port, else by SWT_SCRIPTED_BASE_URL.

    Example: swt dev model --script replies.json --port 8399
    """
    from threading import Event

    from tasks.rehearsal.scripted_provider.script import read_script
    from tasks.rehearsal.scripted_provider.server import ScriptedProvider

    with ScriptedProvider(read_script(script), key=key).serve(port) as url:
        say(f"SWT_SCRIPTED_BASE_URL={url}")
        try:
            Event().wait()
        except KeyboardInterrupt:
            say("stopped", err=True)
