"""`swt sweep` and `swt generate`: methods × models × instances."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.options import (
    CallsOption,
    InstancesOption,
    SandboxOption,
    SnapshotOption,
    TrustedOption,
    UsdOption,
    WorkersOption,
    end,
    one_of,
)
from flows.settings import Settings, settings_from

if TYPE_CHECKING:
    from flows.sweep import SweepRequest

MethodOption = Annotated[list[str], typer.Option("--method", help="Name of a method; may be repeated.")]
ModelOption = Annotated[list[str], typer.Option("--model", help="Name in data/models.toml; may be repeated.")]
MonthsOption = Annotated[int | None, typer.Option(min=1, help="Only pull requests of so many months before --until.")]
UntilOption = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Last day of the window.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only so many instances, always the same ones.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print planned calls, tokens and dollars; ask nobody.")]
NameOption = Annotated[str, typer.Option(help="Who pays: sweeps of one name share a budget.")]
RetrieverOption = Annotated[str, typer.Option(help="Retriever for methods that want files: code or lucene.")]
GiveOption = Annotated[
    list[str] | None,
    typer.Option(help="Tell methods more: test-file, golden-patch, incorrect-patch, modified-files; may be repeated."),
]
IncorrectOption = Annotated[Path | None, typer.Option(help="Predictions file of wrong fixes, for incorrect-patch.")]
ScriptOption = Annotated[bool, typer.Option("--script", help="Ask for reproduction scripts instead of unit tests.")]

SWEEP = """Let methods with models work on instances and judge what they hand in. Only what is missing runs.

Example: swt sweep --method zero_shot_plus --method agent --model gpt-4o-2024-08-06 --snapshot lite --budget-usd 20
"""
GENERATE = """The same without the judging: candidates go into the store, for `swt evaluate stored:METHOD`.

Example: swt generate --method zero_shot_plus --model gpt-4o-2024-08-06 --snapshot lite --limit 20
"""


def add_sweep_commands(app: typer.Typer) -> None:
    """Both take the same options."""
    app.command("generate", help=GENERATE)(_command(evaluate=False))
    app.command("sweep", help=SWEEP)(_command(evaluate=True))


def _command(*, evaluate: bool) -> Callable[..., None]:
    def command(
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
        from flows.sweep import SweepRequest, fixes_in, window_of
        from tasks.adapters.llm.budget import Budget
        from tasks.adapters.retrieval.variants import Variant
        from tasks.domain.generation import Give, Mode

        settings = settings_from(os.environ).overridden(sandbox=sandbox, workers=workers)
        request = SweepRequest(
            snapshot=snapshot,
            methods=tuple(dict.fromkeys(method)),
            models=tuple(dict.fromkeys(model)),
            instances=tuple(instances or ()),
            window=window_of(months, until.date() if until else None),
            limit=limit,
            budget=Budget(calls=budget_calls, usd=budget_usd),
            name=name,
            context=one_of(Variant, context, f"--context {context!r}"),
            give=frozenset(one_of(Give, text, f"--give {text!r}") for text in give or ()),
            incorrect=fixes_in(incorrect) if incorrect else {},
            mode=Mode.REPRODUCTION_SCRIPT if script else Mode.UNIT_TEST,
            evaluate=evaluate,
            trusted=trusted,
        )
        return _plan(request, settings) if dry_run else _run(request, settings)

    return command


def _plan(request: SweepRequest, settings: Settings) -> None:
    from flows.sweep_plan import plan_here

    plan = plan_here(request, settings)
    end((), plan.text, plan.exit_code)


def _run(request: SweepRequest, settings: Settings) -> None:
    from flows.sweep import sweep_here

    summary = sweep_here(request, settings, os.environ)
    end((), summary.text, summary.exit_code)
