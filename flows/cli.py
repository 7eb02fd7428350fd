"""`swt`: thin, typed commands over the flows. Data goes to standard output, everything else to standard error.

Exit codes: 0 done, 1 done with infrastructure failures left, 2 usage, 3 nothing could run.
Heavy imports happen inside the commands, so that `swt --help` and `swt query` answer at once.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows.agent_commands import agents_app
from flows.dev_commands import dev_app
from flows.localize_commands import localize
from flows.model_commands import dev_model
from flows.options import InstancesOption, SandboxOption, SnapshotOption, TrustedOption, WorkersOption, end
from flows.settings import Settings, settings_from
from flows.snapshot_commands import snapshot_app
from flows.sweep_commands import add_sweep_commands
from tasks.domain.errors import SwtError, UsageError
from tasks.domain.outcome import Policy

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A rolling benchmark for issue-reproducing tests.")
repo_app = typer.Typer(no_args_is_help=True, help="Local git mirrors.")
store_app = typer.Typer(no_args_is_help=True, help="The warehouse.")
app.add_typer(repo_app, name="repo")
app.add_typer(store_app, name="store")
app.add_typer(snapshot_app, name="snapshot")
app.add_typer(dev_app, name="dev")
app.add_typer(agents_app, name="agents")
dev_app.command("model")(dev_model)
add_sweep_commands(app)
app.command("localize")(localize)


def main() -> None:
    """Run the command line; an error of ours ends with a `hint:` and its exit code, not with a traceback."""
    try:
        app()
    except SwtError as error:
        typer.echo(f"error[{error.slug}]: {error}", err=True)
        if error.hint:
            typer.echo(f"hint: {error.hint}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 3)


def settings() -> Settings:
    return settings_from(os.environ)


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
    snapshot: SnapshotOption,
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
def evaluate(
    candidates: Annotated[list[str], typer.Argument(help="Predictions files, `golden`, `nop`, `stored:METHOD`.")],
    snapshot: SnapshotOption,
    instances: InstancesOption = None,
    policy: Annotated[Policy, typer.Option(help="Which hunks of a candidate are executed.")] = Policy.TESTS_ONLY,
    sandbox: SandboxOption = None,
    workers: WorkersOption = None,
    coverage: Annotated[bool, typer.Option(help="Watch the changed lines.")] = True,
    confirm: Annotated[bool, typer.Option(help="Repeat without tracing what no guard run speaks for.")] = True,
    guards: Annotated[bool, typer.Option(help="Make the guard runs of would-be successes.")] = True,
    trusted: TrustedOption = False,
) -> None:
    """Judge candidates by running them before and after the golden patch.

    Example: swt evaluate preds.jsonl golden nop --snapshot lite
    """
    from flows.evaluation import EvaluationRequest, evaluate_here

    request = EvaluationRequest(
        candidates=tuple(candidates),
        snapshot=snapshot,
        instances=tuple(instances or ()),
        policy=policy,
        coverage=coverage,
        confirm=confirm,
        guards=guards,
        trusted=trusted,
    )
    summary = evaluate_here(request, settings().overridden(sandbox=sandbox, workers=workers))
    end((), summary.text, summary.exit_code)


@app.command()
def validate(
    snapshot: SnapshotOption,
    instances: InstancesOption = None,
    sandbox: SandboxOption = None,
    workers: WorkersOption = None,
    trusted: TrustedOption = False,
) -> None:
    """Run golden tests again under other conditions and say which instances are to be trusted, and why not the others.

    Example: swt validate --snapshot lite --instances pallets__flask-4045
    """
    from flows.validation import ValidationRequest, validate_here

    request = ValidationRequest(snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    summary = validate_here(request, settings().overridden(sandbox=sandbox, workers=workers))
    end((), summary.text, summary.exit_code)


@app.command()
def strength(
    fixes: Annotated[
        list[str], typer.Argument(help="Repairs files (as predictions files, with patches of the code), `partial`.")
    ],
    snapshot: SnapshotOption,
    instances: InstancesOption = None,
    sandbox: SandboxOption = None,
    workers: WorkersOption = None,
    trusted: TrustedOption = False,
) -> None:
    """Run solved candidates on wrong fixes that others proposed: how many of them do they reject?

    Example: swt strength failed-repairs.jsonl partial --snapshot lite

    `partial` is the golden patch, each time without another of its changes.
    """
    from flows.strength import StrengthRequest, strength_here

    request = StrengthRequest(fixes=tuple(fixes), snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    summary = strength_here(request, settings().overridden(sandbox=sandbox, workers=workers))
    end((), summary.text, summary.exit_code)


@app.command()
def rebuild(
    snapshot: Annotated[str, typer.Option("--snapshot", help="Name to publish under; default: the month.")] = "",
    repos: Annotated[list[str] | None, typer.Option(help="OWNER/NAME; may be repeated; default: the list.")] = None,
    repositories_file: Annotated[Path | None, typer.Option(help="Default: data/repositories.toml.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Go no further back than this day, UTC.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="New instances to validate for each repository.")] = None,
    git: Annotated[str | None, typer.Option(help="Where mirrors come from, with {repo}; empty: as they are.")] = None,
    sandbox: SandboxOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Units of work at once.")] = None,
    trusted: TrustedOption = False,
) -> None:
    """Collect merged pull requests, validate those that can be instances, and publish a snapshot.

    Example: swt rebuild --repos pallets/flask --since 2026-01-01 --limit 20
    """
    from flows.rebuild import GIT, REPOSITORIES, RebuildRequest, month, rebuild_here

    chosen = settings().overridden(sandbox=sandbox, workers=workers)
    request = RebuildRequest(
        snapshot=snapshot or month(),
        repositories=tuple(repos or ()),
        repositories_file=repositories_file or REPOSITORIES,
        since=since.replace(tzinfo=UTC) if since else None,
        limit=limit,
        github=chosen.github,
        git=GIT if git is None else git,
        trusted=trusted,
    )
    summary = rebuild_here(request, chosen)
    end((), summary.text, summary.exit_code)


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
