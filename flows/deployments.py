"""The flows that `prefect.yaml` deploys: each story with Prefect's tasks, its parameters as a deployment takes them.

The stories do without Prefect (`evaluate_here` and its like), so that commands do not pay for its import. What a
worker is told in `SWT_*` variables decides where things are.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.task_runners import ThreadPoolTaskRunner

from flows.evaluation import EvaluationRequest, run_evaluation
from flows.fan_out import PrefectTasks
from flows.rebuild import GIT, REPOSITORIES, RebuildRequest, month, run_rebuild
from flows.settings import settings_from
from flows.strength import StrengthRequest, run_strength
from flows.sweep import run_sweep, window_of
from flows.sweep_given import Give
from flows.sweep_progress import ProgressArtifacts
from flows.sweep_request import SweepRequest
from flows.validation import ValidationRequest, run_validation
from tasks.adapters.llm.budget import Budget
from tasks.adapters.retrieval.variants import Variant
from tasks.domain.outcome import Policy, SandboxKind

PROCESSORS = os.cpu_count() or 1


@flow(name="evaluate", task_runner=ThreadPoolTaskRunner(max_workers=PROCESSORS))  # type: ignore[arg-type]
def evaluate(
    candidates: list[str],
    snapshot: str,
    instances: list[str] | None = None,
    policy: Policy = Policy.TESTS_ONLY,
    sandbox: SandboxKind | None = None,
    coverage: bool = True,
    confirm: bool = True,
    guards: bool = True,
    trusted: bool = False,
) -> int:
    """Judge candidates by running them before and after the golden patch; returns the exit code of `swt evaluate`."""
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
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    summary = run_evaluation(request, settings, PrefectTasks(settings.workers))
    create_table_artifact(key="evaluation", table=[dict(row) for row in summary.rows], description=snapshot)
    return summary.exit_code


@flow(name="rebuild", task_runner=ThreadPoolTaskRunner(max_workers=PROCESSORS))  # type: ignore[arg-type]
def rebuild(
    snapshot: str | None = None,
    repositories: list[str] | None = None,
    repositories_file: Path = REPOSITORIES,
    since: datetime | None = None,
    limit: int | None = None,
    github: str | None = None,
    git: str = GIT,
    secret: str = "",
    sandbox: SandboxKind | None = None,
    trusted: bool = False,
) -> int:
    """Collect, validate and publish a snapshot; without a name it is called after the month. Returns the exit code."""
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    request = RebuildRequest(
        snapshot=snapshot or month(),
        repositories=tuple(repositories or ()),
        repositories_file=repositories_file,
        since=since,
        limit=limit,
        github=github or settings.github,
        git=git,
        secret=secret,
        trusted=trusted,
    )
    summary = run_rebuild(request, settings, PrefectTasks(settings.workers))
    create_table_artifact(key="funnel", table=list(summary.funnel), description=request.snapshot)
    return summary.exit_code


@flow(name="sweep", task_runner=ThreadPoolTaskRunner(max_workers=64))  # type: ignore[arg-type]
def sweep(
    model: str,
    methods: list[str],
    snapshot: str,
    models: list[str] | None = None,
    instances: list[str] | None = None,
    months: int | None = None,
    until: date | None = None,
    limit: int | None = None,
    budget_calls: int | None = None,
    budget_usd: float | None = None,
    name: str = "",
    context: Variant = Variant.CODE,
    give: list[Give] | None = None,
    incorrect: dict[str, str] | None = None,
    shard: int = 1,
    shards: int = 1,
    evaluate: bool = True,
    sandbox: SandboxKind | None = None,
    trusted: bool = False,
) -> int:
    """Sweep a model (and others) over methods × instances; returns the exit code of `swt sweep`.

    `months` with `until` is a window of the snapshot; `shard` of `shards` is one worker's share of it.
    """
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    request = SweepRequest(
        snapshot=snapshot,
        methods=tuple(methods),
        models=tuple(dict.fromkeys([model, *(models or ())])),
        instances=tuple(instances or ()),
        window=window_of(months, until),
        limit=limit,
        budget=Budget(calls=budget_calls, usd=budget_usd),
        name=name,
        context=context,
        give=frozenset(give or ()),
        incorrect=incorrect or {},
        shard=shard,
        shards=shards,
        evaluate=evaluate,
        trusted=trusted,
    )
    watch = ProgressArtifacts("sweep")
    workers, callers = PrefectTasks(settings.workers, watch), PrefectTasks(settings.callers, watch)
    summary = run_sweep(request, settings, workers, os.environ, callers=callers)
    create_table_artifact(key="sweep", table=[asdict(cell) for cell in summary.cells], description=summary.text)
    for problem in summary.problems:
        print(problem)
    return summary.exit_code


@flow(name="validate", task_runner=ThreadPoolTaskRunner(max_workers=PROCESSORS))  # type: ignore[arg-type]
def validate(
    snapshot: str, instances: list[str] | None = None, sandbox: SandboxKind | None = None, trusted: bool = False
) -> int:
    """Judge the golden tests of a snapshot; returns the exit code of `swt validate`."""
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    request = ValidationRequest(snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    return run_validation(request, settings, PrefectTasks(settings.workers)).exit_code


@flow(name="strength", task_runner=ThreadPoolTaskRunner(max_workers=PROCESSORS))  # type: ignore[arg-type]
def strength(
    fixes: list[str],
    snapshot: str,
    instances: list[str] | None = None,
    sandbox: SandboxKind | None = None,
    trusted: bool = False,
) -> int:
    """Run solved candidates on proposed fixes; returns the exit code of `swt strength`."""
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    request = StrengthRequest(fixes=tuple(fixes), snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    summary = run_strength(request, settings, PrefectTasks(settings.workers))
    for problem in summary.problems:
        print(problem)
    print(summary.text)
    return summary.exit_code
