"""`swt sweep` and `swt generate`: methods × models × instances."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tasks.domain.outcome import SandboxKind

if TYPE_CHECKING:
    from flows.sweep_request import SweepRequest

MethodOption = Annotated[list[str], typer.Option("--method", help="Name of a method; may be repeated.")]
ModelOption = Annotated[list[str], typer.Option("--model", help="Name in data/models.toml; may be repeated.")]
SnapshotOption = Annotated[str, typer.Option("--snapshot", help="Name of the snapshot.")]
InstancesOption = Annotated[list[str] | None, typer.Option(help="Only these instance ids; may be repeated.")]
MonthsOption = Annotated[int | None, typer.Option(min=1, help="Only pull requests of so many months before --until.")]
UntilOption = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Last day of the window.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only so many instances, always the same ones.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print planned calls, tokens and dollars; ask nobody.")]
UsdOption = Annotated[float | None, typer.Option(min=0, help="Stop when so many dollars are spent.")]
CallsOption = Annotated[int | None, typer.Option(min=0, help="Stop when so many model calls are paid for.")]
NameOption = Annotated[str, typer.Option(help="Who pays: sweeps of one name share a budget.")]
RetrieverOption = Annotated[str, typer.Option(help="Retriever for methods that want files: code or lucene.")]
GiveOption = Annotated[
    list[str] | None,
    typer.Option(help="Tell methods more: test-file, golden-patch, incorrect-patch, modified-files; may be repeated."),
]
IncorrectOption = Annotated[Path | None, typer.Option(help="Predictions file of wrong fixes, for incorrect-patch.")]
ScriptOption = Annotated[bool, typer.Option("--script", help="Ask for reproduction scripts instead of unit tests.")]
SandboxOption = Annotated[SandboxKind | None, typer.Option(help="Where code runs; default: SWT_SANDBOX or auto.")]
WorkersOption = Annotated[int | None, typer.Option(min=1, help="Test processes at once.")]
TrustedOption = Annotated[bool, typer.Option("--trusted", help="The code may run where nothing isolates it.")]


def sweep(
    method: MethodOption,
    model: ModelOption,
    snapshot: SnapshotOption,
    instances: InstancesOption = None,
    months: MonthsOption = None,
    until: UntilOption = None,
    limit: LimitOption = None,
    dry_run: DryRunOption = False,
    budget_usd: UsdOption = None,
    budget_calls: CallsOption = None,
    name: NameOption = "",
    context: RetrieverOption = "code",
    give: GiveOption = None,
    incorrect: IncorrectOption = None,
    script: ScriptOption = False,
    sandbox: SandboxOption = None,
    workers: WorkersOption = None,
    trusted: TrustedOption = False,
) -> None:
    """Let methods with models work on instances and judge what they hand in. Only what is missing runs.

    Example: swt sweep --method zero_shot_plus --method agent --model gpt-4o-2024-08-06 --snapshot lite --budget-usd 20
    """
    _run(dict(locals()), evaluate=True)


def generate(
    method: MethodOption,
    model: ModelOption,
    snapshot: SnapshotOption,
    instances: InstancesOption = None,
    months: MonthsOption = None,
    until: UntilOption = None,
    limit: LimitOption = None,
    dry_run: DryRunOption = False,
    budget_usd: UsdOption = None,
    budget_calls: CallsOption = None,
    name: NameOption = "",
    context: RetrieverOption = "code",
    give: GiveOption = None,
    incorrect: IncorrectOption = None,
    script: ScriptOption = False,
    sandbox: SandboxOption = None,
    workers: WorkersOption = None,
    trusted: TrustedOption = False,
) -> None:
    """The same without the judging: candidates go into the store, for `swt evaluate stored:METHOD`.

    Example: swt generate --method zero_shot_plus --model gpt-4o-2024-08-06 --snapshot lite --limit 20
    """
    _run(dict(locals()), evaluate=False)


def _run(asked: dict[str, Any], *, evaluate: bool) -> None:
    from flows.fan_out import Threads
    from flows.settings import settings_from
    from flows.sweep import sweep_here
    from flows.sweep_plan import plan_sweep

    settings = settings_from(os.environ).overridden(sandbox=asked["sandbox"], workers=asked["workers"])
    request = _request(asked, evaluate=evaluate)
    if asked["dry_run"]:
        plan = plan_sweep(request, settings, Threads(settings.workers))
        _say(plan.problems, plan.text)
        return
    summary = sweep_here(request, settings, os.environ)
    _say(summary.problems, summary.text)
    raise typer.Exit(summary.exit_code)


def _request(asked: dict[str, Any], *, evaluate: bool) -> SweepRequest:
    from flows.sweep import window_of
    from flows.sweep_given import Give
    from flows.sweep_request import SweepRequest, fixes_in
    from tasks.adapters.llm.budget import Budget
    from tasks.adapters.retrieval.variants import Variant
    from tasks.domain.generation import Mode

    until, incorrect = asked["until"], asked["incorrect"]
    return SweepRequest(
        snapshot=asked["snapshot"],
        methods=tuple(dict.fromkeys(asked["method"])),
        models=tuple(dict.fromkeys(asked["model"])),
        instances=tuple(asked["instances"] or ()),
        window=window_of(asked["months"], until.date() if until else None),
        limit=asked["limit"],
        budget=Budget(calls=asked["budget_calls"], usd=asked["budget_usd"]),
        name=asked["name"],
        context=_one_of(Variant, asked["context"], "--context"),
        give=frozenset(_one_of(Give, text, "--give") for text in asked["give"] or ()),
        incorrect=fixes_in(incorrect) if incorrect else {},
        mode=Mode.REPRODUCTION_SCRIPT if asked["script"] else Mode.UNIT_TEST,
        evaluate=evaluate,
        trusted=asked["trusted"],
    )


def _one_of(kind: Any, text: str, option: str) -> Any:
    from tasks.domain.errors import UsageError

    if text not in list(kind):
        raise UsageError(f"{option} {text!r}", hint="one of " + ", ".join(kind))
    return kind(text)


def _say(problems: tuple[str, ...], text: str) -> None:
    for problem in problems:
        typer.echo(problem, err=True)
    typer.echo(text)
