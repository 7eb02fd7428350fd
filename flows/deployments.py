"""The flows that `prefect.yaml` deploys: each story with Prefect's tasks, its parameters as a deployment takes them.

The stories do without Prefect (`evaluate_here` and its like), so that commands do not pay for its import. What a
worker is told in `SWT_*` variables decides where things are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from flows import evaluation, validation
from flows import rebuild as rebuilding
from flows import strength as strengths
from flows import sweep as sweeping
from flows.evaluation import EvaluationRequest
from flows.prefect_board import PrefectTasks, final_state, listen, task_runner
from flows.rebuild import GIT, REPOSITORIES, RebuildRequest, month
from flows.run import StoryRun, Summary
from flows.settings import Settings, settings_from
from flows.strength import StrengthRequest
from flows.sweep import SweepRequest, window_of
from flows.validation import ValidationRequest
from tasks.adapters.llm.budget import Budget
from tasks.adapters.retrieval.variants import Variant
from tasks.adapters.store.warehouse import Store
from tasks.domain.generation import Give
from tasks.domain.outcome import Policy, SandboxKind


def _tell(story: str, sandbox: SandboxKind | None, body: Callable[[Settings, StoryRun], Summary]) -> State[None]:
    """A story in the flow run that is under way; its final state says what the exit code of the command would."""
    listen()
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    run = StoryRun(story, str(flow_run.id), Store(settings.store), PrefectTasks(settings.workers))
    summary = body(settings, run)
    return final_state(summary.exit_code, summary.text)


@flow(name="evaluate", task_runner=task_runner(), persist_result=False)
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
) -> State[None]:
    """Judge candidates by running them before and after the golden patch."""
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
    return _tell(evaluation.STORY, sandbox, lambda settings, run: evaluation.evaluate(request, settings, run))


@flow(name="rebuild", task_runner=task_runner(), persist_result=False)
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
) -> State[None]:
    """Collect, validate and publish a snapshot; without a name it is called after the month."""
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
    return _tell(rebuilding.STORY, sandbox, lambda settings, run: rebuilding.rebuild(request, settings, run))


@flow(name="sweep", task_runner=task_runner(), persist_result=False)
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
) -> State[None]:
    """Sweep a model (and others) over methods × instances.

    `months` with `until` is a window of the snapshot; `shard` of `shards` is one worker's share of it.
    """
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
    return _tell(sweeping.STORY, sandbox, lambda settings, run: sweeping.sweep(request, settings, run, os.environ))


@flow(name="validate", task_runner=task_runner(), persist_result=False)
def validate(
    snapshot: str, instances: list[str] | None = None, sandbox: SandboxKind | None = None, trusted: bool = False
) -> State[None]:
    """Judge the golden tests of a snapshot."""
    request = ValidationRequest(snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    return _tell(validation.STORY, sandbox, lambda settings, run: validation.validate(request, settings, run))


@flow(name="strength", task_runner=task_runner(), persist_result=False)
def strength(
    fixes: list[str],
    snapshot: str,
    instances: list[str] | None = None,
    sandbox: SandboxKind | None = None,
    trusted: bool = False,
) -> State[None]:
    """Run solved candidates on proposed fixes."""
    request = StrengthRequest(fixes=tuple(fixes), snapshot=snapshot, instances=tuple(instances or ()), trusted=trusted)
    return _tell(strengths.STORY, sandbox, lambda settings, run: strengths.strength(request, settings, run))
