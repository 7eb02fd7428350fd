"""`swt dev model`: a provider on this machine that speaks from a script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.options import PortOption


def dev_model(
    script: Annotated[Path, typer.Option("--script", help="JSON list of steps (tasks/rehearsal/scripted_provider).")],
    port: PortOption = 8399,
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
        typer.echo(f"SWT_SCRIPTED_BASE_URL={url}")
        try:
            Event().wait()
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
