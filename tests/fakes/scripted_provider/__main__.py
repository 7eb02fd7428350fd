"""Serves a script as a provider of models: `python -m tests.fakes.scripted_provider --help`."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from flows.interface.cli import run_command
from flows.interface.pipelines import Port
from tasks.adapters.text import say
from tests.fakes.scripted_provider.script import read_script
from tests.fakes.scripted_provider.server import ScriptedProvider


def main(
    script: Annotated[Path, typer.Option("--script", help="JSON list of steps; script.py describes them.")],
    port: Port = 8399,
    key: Annotated[str, typer.Option(help="Refuse callers that have another key; default: accept all.")] = "",
) -> None:
    """Serve recorded replies as a provider of models would, in three dialects, with faults on demand.

    The model `scripted` finds the server on the default port, else by SWT_SCRIPTED_BASE_URL.

    Example: python -m tests.fakes.scripted_provider --script replies.json
    """
    with ScriptedProvider(read_script(script), key=key).serve(port) as url:
        say(f"SWT_SCRIPTED_BASE_URL={url}")
        try:
            Event().wait()
        except KeyboardInterrupt:
            say("stopped", err=True)


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
