"""`swt`: thin, typed commands over the flows. Data goes to standard output, everything else to standard error.

Exit codes: 0 done, 1 done with infrastructure failures left, 2 usage, 3 nothing could run.
Heavy imports happen inside the commands, so that `swt --help` and `swt query` answer at once.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.agent_commands import agents_app
from flows.dev_commands import dev_app
from flows.model_commands import dev_model
from flows.options import add_stories
from flows.options import here as settings
from flows.snapshot_commands import snapshot_app
from flows.stories import STORIES
from tasks.domain.errors import SwtError, UsageError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A rolling benchmark for issue-reproducing tests.")
repo_app = typer.Typer(no_args_is_help=True, help="Local git mirrors.")
store_app = typer.Typer(no_args_is_help=True, help="The warehouse.")
app.add_typer(repo_app, name="repo")
app.add_typer(store_app, name="store")
app.add_typer(snapshot_app, name="snapshot")
app.add_typer(dev_app, name="dev")
app.add_typer(agents_app, name="agents")
dev_app.command("model")(dev_model)
add_stories(app, {"snapshot": snapshot_app}, STORIES)


def main() -> None:
    """Run the command line; an error of ours ends with a `hint:` and its exit code, not with a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        app()
    except SwtError as error:
        typer.echo(f"error[{error.slug}]: {error}", err=True)
        if error.hint:
            typer.echo(f"hint: {error.hint}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 3)


def _version(asked: bool) -> None:
    if asked:
        from tasks.adapters.store.provenance import project_version

        typer.echo(f"swt {project_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which one.")
    ] = False,
) -> None:
    """A rolling benchmark for issue-reproducing tests."""


@app.command()
def doctor() -> None:
    """Say what this machine can do: sandboxes, interpreters, disk, store.

    Example: swt doctor
    """
    from flows.doctor import report

    typer.echo(report(settings()))


@app.command()
def demo() -> None:
    """Run everything there is on the bundled project: no network, no engine, no key.

    Example: swt demo
    """
    from flows.demo import run_demo

    typer.echo(run_demo(settings()))


@app.command(name="import")
def import_file(
    file: Annotated[Path, typer.Argument(help="SWE-bench rows: JSONL, JSON or Parquet.")],
    snapshot: Annotated[str, typer.Option(help="Name of the snapshot.")],
) -> None:
    """Import SWE-bench rows as a snapshot.

    Example: swt import swe-bench-lite.jsonl --snapshot lite
    """
    from flows.importing import import_rows

    typer.echo(import_rows(settings(), file, snapshot))


@repo_app.command("add")
def repo_add(
    name: Annotated[str, typer.Argument(help="OWNER/NAME as GitHub spells it.")],
    git: Annotated[str, typer.Option("--git", help="A git repository: a local path or a URL.")] = "",
) -> None:
    """Mirror a repository.

    Example: swt repo add psf/requests --git ~/src/requests
    """
    from flows.importing import add_mirror

    typer.echo(add_mirror(settings(), name, git))


@app.command()
def query(
    question: Annotated[str | None, typer.Argument(help="A name from `swt query`, or SQL.")] = None,
    output: Annotated[str, typer.Option("--format", help="table, json, csv or parquet.")] = "table",
    everything: Annotated[bool, typer.Option("--all", help="List views, audits and macros as well.")] = False,
) -> None:
    """Ask the warehouse; without a question, list the named ones.

    Example: swt query table2, or swt query "FROM verdict WHERE solved" --format csv
    """
    from flows.asking import ask

    ask(settings(), question, output, sys.stdout.buffer, everything=everything)


@app.command()
def log(run: Annotated[str, typer.Argument(help="A run's key, or the beginning of it.")]) -> None:
    """Show what a run printed.

    Example: swt log 06f7c33f
    """
    from flows.asking import show_log

    typer.echo(show_log(settings(), run, sys.stdout.buffer), err=True)


@store_app.command("views")
def store_views() -> None:
    """Rebuild the DuckDB file of views; deleting it loses nothing."""
    from flows.asking import rebuild_views

    typer.echo(rebuild_views(settings()))


@store_app.command("check")
def store_check() -> None:
    """Look for torn files and orphaned rows, and ask every audit; exit code 1 where something is found."""
    from flows.asking import check_store

    text, clean = check_store(settings())
    typer.echo(text)
    raise typer.Exit(0 if clean else 1)


@store_app.command("compact")
def store_compact() -> None:
    """Merge the small files of each table into one."""
    from flows.asking import compact_store

    typer.echo(compact_store(settings()))


@store_app.command("gc")
def store_gc() -> None:
    """Remove logs that no row names, and leftovers of killed writers."""
    from flows.asking import collect_garbage

    typer.echo(collect_garbage(settings()))
