"""`swt`: thin, typed commands over the flows. Data goes to standard output, everything else to standard error.

Exit codes: 0 done, 1 done with infrastructure failures left, 2 usage, 3 nothing could run, 130 interrupted. Commands
import large modules only when they run, so that `swt --help` and `swt query` start fast.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from flows.interface.pipelines import PIPELINES, Port, add_pipelines, end, plain
from flows.interface.settings import Settings, settings_here
from tasks.adapters.text import PrintableFormatter, say
from tasks.domain.errors import InfrastructureError, SwtError, UsageError

app = plain(add_completion=False, help="A rolling benchmark for issue-reproducing tests.")
repo_app = plain(help="Local git mirrors.")
store_app = plain(help="The warehouse.")
snapshot_app = plain(help="Published sets of instances.")
agents_app = plain(help="Agents of other people.")
submit_app = plain(help="Predictions files of your own.")
app.add_typer(repo_app, name="repo")
app.add_typer(store_app, name="store")
app.add_typer(snapshot_app, name="snapshot")
app.add_typer(submit_app, name="submit")
app.add_typer(agents_app, name="agents")
add_pipelines(app, {"snapshot": snapshot_app}, PIPELINES)


FULL = (errno.ENOSPC, errno.EDQUOT)
INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells. typer exits with it on a KeyboardInterrupt."""

Name = Annotated[str, typer.Argument(help="Name of a snapshot.")]


def main() -> None:
    """Run the command line."""
    run_command(app)


def run_command(command: Callable[[], object]) -> None:
    """Run a typer command; an internal error ends with a `hint:` and its exit code, not with a traceback."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        command()
    except SwtError as error:
        say(f"error[{error.slug}]: {error}", err=True)
        if error.hint:
            say(f"hint: {error.hint}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 3)
    except OSError as error:
        if error.errno not in FULL:
            raise
        say(f"error[{InfrastructureError.slug}]: {error}", err=True)
        say("hint: free some room and run it again: what was done stays done (`swt store prune --dry-run`)", err=True)
        sys.exit(3)
    except SystemExit as ended:
        if ended.code == INTERRUPTED and threading.active_count() > 1:
            # After a second Ctrl-C, a normal exit would wait for the threads, and a unit takes as long as its tests.
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        raise
    except Exception:  # Python's own traceback would print third-party text of the message unescaped
        say(traceback.format_exc(), err=True)
        sys.exit(1)


def _version(asked: bool) -> None:
    if asked:
        from tasks.adapters.store.files.provenance import project_version

        say(f"swt {project_version()}")
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
    """Check this machine: sandboxes, interpreters, disk and store.

    Example: swt doctor
    """
    from flows.interface.commands.machine import report

    say(report(settings()))


@app.command()
def demo() -> None:
    """Run every flow on the bundled project: no network, no container engine, no API key.

    Example: swt demo
    """
    from flows.demo import run_demo

    say(run_demo(settings()))


@app.command(name="import")
def import_file(
    file: Annotated[Path, typer.Argument(help="SWE-bench rows: JSONL, JSON or Parquet.")],
    snapshot: Annotated[str, typer.Option(help="Name of the snapshot.")],
) -> None:
    """Import SWE-bench rows as a snapshot.

    Example: swt import swe-bench-lite.jsonl --snapshot lite
    """
    from flows.snapshots import import_rows

    say(import_rows(settings(), file, snapshot))


@app.command()
def view(
    snapshot: Annotated[str, typer.Option(help="Name of the snapshot; empty: the newest that is in use.")] = "",
    folder: Annotated[Path | None, typer.Option("--folder", help="A report that was written elsewhere.")] = None,
    port: Port = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser on it.")] = True,
) -> None:
    """Serve a report to this machine only and open it in a browser; Ctrl-C ends it.

    Example: swt view --snapshot lite
    """
    from flows.report import view as serve

    serve(settings(), snapshot, folder, port, lambda text: say(text, err=True), browser)


@repo_app.command("add")
def repo_add(
    name: Annotated[str, typer.Argument(help="OWNER/NAME as GitHub spells it.")],
    git: Annotated[str, typer.Option("--git", help="A git repository: a local path or a URL.")] = "",
) -> None:
    """Mirror a repository.

    Example: swt repo add psf/requests --git ~/src/requests
    """
    from flows.interface.commands.machine import add_mirror

    say(add_mirror(settings(), name, git))


@app.command()
def query(
    question: Annotated[str | None, typer.Argument(help="A name from `swt query`, or SQL.")] = None,
    output: Annotated[str, typer.Option("--format", help="table, json, csv, parquet, markdown or latex.")] = "table",
    everything: Annotated[bool, typer.Option("--all", help="List views, audits and macros as well.")] = False,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Count what was withdrawn as well.")] = False,
    dictionary: Annotated[bool, typer.Option("--dictionary", help="Print every table, view and column.")] = False,
) -> None:
    """Query the warehouse; without a query, list the named ones.

    Example: swt query table2, or swt query "FROM verdict WHERE solved" --format csv
    """
    from flows.interface.commands.queries import ask, data_dictionary

    if dictionary:
        sys.stdout.buffer.write(data_dictionary(settings()).encode())
        return
    ask(settings(), question, output, sys.stdout.buffer, everything=everything, withdrawn=withdrawn)


@app.command()
def export(
    kind: Annotated[str, typer.Argument(help="swe-bench, predictions, reports, harbor or warehouse.")],
    out: Annotated[Path, typer.Argument(help="A file (.parquet or .jsonl); for reports and harbor a folder.")],
    snapshot: Annotated[str, typer.Option(help="Name of the snapshot; not for the warehouse.")] = "",
    method: Annotated[str, typer.Option(help="Only the predictions of this method.")] = "",
    image: Annotated[str, typer.Option(help="What harbor's tasks start from; Docker's own python by default.")] = "",
) -> None:
    """Write instances, predictions, reports, Harbor tasks or the whole warehouse to files for other programs.

    Example: swt export swe-bench lite.parquet --snapshot lite, or swt export warehouse out.duckdb
    """
    from flows.interface.commands.queries import export as write

    say(write(settings(), kind, out, snapshot, method, image))


@app.command()
def log(run: Annotated[str, typer.Argument(help="A run's key, or the beginning of it.")]) -> None:
    """Show the output of a run.

    Example: swt log 06f7c33f
    """
    from flows.interface.commands.queries import show_log

    say(show_log(settings(), run, sys.stdout.buffer), err=True)


@store_app.command("views")
def store_views() -> None:
    """Rebuild the DuckDB file of views; deleting it loses nothing."""
    from flows.interface.commands.queries import rebuild_views

    say(rebuild_views(settings()))


@store_app.command("check")
def store_check() -> None:
    """Find torn files and orphaned rows, and run every audit; exit code 1 if anything is found."""
    from flows.interface.commands.queries import check_store

    text, clean = check_store(settings())
    say(text)
    raise typer.Exit(0 if clean else 1)


@store_app.command("compact")
def store_compact() -> None:
    """Merge the small files of each table into one; `swt store gc` deletes the merged ones a day later."""
    from flows.interface.commands.queries import compact_store

    say(compact_store(settings()))


@store_app.command("gc")
def store_gc() -> None:
    """Delete logs that no row names, leftovers of killed writers, and files that were replaced a day ago."""
    from flows.interface.commands.queries import collect_garbage

    say(collect_garbage(settings()))


@store_app.command("prune")
def store_prune(
    older_than: Annotated[str, typer.Option(help="What was not used for so long: 90 days, 6 months.")] = "3 months",
    dry_run: Annotated[bool, typer.Option(help="Say what would go, and remove nothing.")] = False,
) -> None:
    """Remove environments, trees and mirrors that no run has used for long: all can be rebuilt. Replay logs of work
    that stopped that long ago are removed too: if the work is resumed, it may call its model again."""
    from flows.interface.commands.pruning import prune

    say(prune(settings(), older_than, dry_run=dry_run))


@submit_app.command("check")
def submit_check(
    file: Annotated[Path, typer.Argument(help="Predictions: JSON lines, JSON or Parquet (docs/submitting.md).")],
    snapshot: Annotated[str, typer.Option(help="Name of the snapshot that they are for.")],
) -> None:
    """Check a predictions file and run nothing: print what it holds and every problem; exit code 1 if there is one.

    Example: swt submit check preds.jsonl --snapshot lite
    """
    from tasks.adapters.llm.catalogue.models import read_models
    from tasks.adapters.store.tables.store import Store
    from tasks.evaluate.intake.file_check import check_submission

    here = settings()
    models = read_models(here.models / "models.toml", here.own_models)
    text, clean = check_submission(Store(here.store), models, file, snapshot)
    end(text, 0 if clean else 1)


@snapshot_app.command("list")
def snapshot_list() -> None:
    """List every snapshot, with its size and its predecessor.

    Example: swt snapshot list
    """
    from flows.snapshots import list_snapshots

    say(list_snapshots(settings()))


@snapshot_app.command("show")
def snapshot_show(name: Name) -> None:
    """Show the instances of a snapshot, with their facts and the result of their last validation.

    Example: swt snapshot show 2026-11
    """
    from flows.snapshots import show_snapshot

    say(show_snapshot(settings(), name))


@snapshot_app.command("diff")
def snapshot_diff(older: Name, newer: Name) -> None:
    """Show what was added, retired or repaired between two snapshots.

    Example: swt snapshot diff 2026-10 2026-11
    """
    from flows.snapshots import diff_snapshots

    say(diff_snapshots(settings(), older, newer))


@snapshot_app.command("verify")
def snapshot_verify(name: Name) -> None:
    """Compare a published snapshot with its manifest; exit code 1 if the store differs.

    Example: swt snapshot verify 2026-11
    """
    from flows.snapshots import verify

    wrong = verify(settings(), name)
    for line in wrong:
        say(line)
    say(f"{name}: {'not what was published' if wrong else 'as published'}", err=True)
    raise typer.Exit(1 if wrong else 0)


@app.command()
def models(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; all, where none is given.")] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Put a short question to each of them, and pay for it.")] = False,
) -> None:
    """List the models, their price in dollars for a million tokens, and the key that is missing.

    Example: swt models, or swt models gpt-4o-2024-08-06 --ask
    """
    from flows.interface.commands.models import show_models

    if ask and not names:
        raise UsageError("--ask wants the names of models: each answer is paid for", hint="swt models NAME --ask")
    told = show_models(settings(), names or (), os.environ, ask=ask)
    end(told.text, told.exit_code)


@agents_app.command("list")
def agents_list() -> None:
    """List the third-party agents, their release, and where they are installed.

    Example: swt agents list
    """
    from flows.interface.commands.machine import list_agents

    say(list_agents(settings()))


@agents_app.command("install")
def agents_install(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names from `swt agents list`; all, where none is given.")
    ] = None,
) -> None:
    """Install agents in their pinned releases; nothing goes into the environment of `swt`.

    Example: swt agents install aider mini_swe_agent
    """
    from flows.interface.commands.machine import install_agents

    done = install_agents(settings(), names or (), os.environ)
    for problem in done.problems:
        say(problem, err=True)
    end(done.text, done.exit_code)


def settings() -> Settings:
    """Returns the settings of this machine."""
    return settings_here(os.environ)
