"""Predictions in, verdicts out: what a user of the public harness comes for.

    candidates ─► submissions, suites ─► environments ─► runs ─► would-be successes run again untraced ─► verdicts

Every step reads and writes rows of the store and skips what is there: the same request twice starts no test process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.task_runners import ThreadPoolTaskRunner

from flows.fan_out import FanOut, PrefectTasks, Threads, Unit
from flows.settings import Settings, settings_from
from flows.summary import EvaluationSummary, Tally, suites_to_confirm, summarise
from tasks.adapters.store.database import build_views
from tasks.adapters.store.warehouse import Store
from tasks.coverage.task import record_changed_lines
from tasks.domain.outcome import Policy, SandboxKind, Tracer
from tasks.environment.task import prepare_environment
from tasks.evaluate.task import RunSettings, check_sandbox, choose_instances, run_suites, take_candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """What to judge, and how."""

    candidates: tuple[str, ...]
    """Paths of predictions files, `golden`, `nop`."""
    snapshot: str
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    policy: Policy = Policy.TESTS_ONLY
    coverage: bool = True
    """Watch the changed lines; without it there is no ΔC and no confirmation is needed."""
    confirm: bool = True
    """Repeat would-be successes, and a sample of the others, without tracing."""
    trusted: bool = False
    """Whether the code may run in a sandbox that isolates nothing."""

    def run_settings(self, settings: Settings) -> RunSettings:
        tracer = Tracer.PROBE if self.coverage else Tracer.NONE
        return RunSettings(sandbox=settings.sandbox, trusted=self.trusted, limits=settings.limits, tracer=tracer)


def evaluate_here(request: EvaluationRequest, settings: Settings) -> EvaluationSummary:
    """Evaluate in this process, on threads, with no server."""
    return run_evaluation(request, settings, Threads(settings.workers))


@flow(name="evaluate", task_runner=ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1))  # type: ignore[arg-type]
def evaluate(
    candidates: list[str],
    snapshot: str,
    instances: list[str] | None = None,
    policy: Policy = Policy.TESTS_ONLY,
    sandbox: SandboxKind | None = None,
    coverage: bool = True,
    confirm: bool = True,
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
        trusted=trusted,
    )
    settings = settings_from(os.environ).overridden(sandbox=sandbox)
    summary = run_evaluation(request, settings, PrefectTasks())
    create_table_artifact(key="evaluation", table=[dict(row) for row in summary.rows], description=snapshot)
    return summary.exit_code


def run_evaluation(request: EvaluationRequest, settings: Settings, fan_out: FanOut) -> EvaluationSummary:
    """The story. `fan_out` says where units of work run; the result is the same."""
    places, run = settings.places, request.run_settings(settings)
    check_sandbox(places, run)
    torn = Store(settings.store).quarantine()
    instances = choose_instances(places, request.snapshot, request.instances)
    record_changed_lines.fn(places, instances)
    taken = take_candidates.fn(places, request.candidates, instances, request.policy, request.coverage)
    work = Tally(taken, torn)
    names = [name for name, suites in taken.suites.items() if suites]
    prepared = fan_out("environments", prepare_environment, [(places, request.snapshot, name) for name in names])
    environments = work.environments(names, prepared)
    units: list[Unit] = [
        (places, run, request.snapshot, name, env, taken.suites[name]) for name, env in environments.items()
    ]
    ran = fan_out("runs", run_suites, units)
    work.ran(units, ran)
    build_views(settings.store, settings.database, settings.sql)
    if request.confirm and request.coverage:
        again = _units_to_confirm(settings, request.snapshot, units)
        confirmed = fan_out("confirmations", run_suites, again)
        work.ran(again, confirmed)
    return summarise(settings, request.snapshot, work)


def _units_to_confirm(settings: Settings, snapshot: str, units: Sequence[Unit]) -> list[Unit]:
    """Would-be successes, and a sample of the others, run again without tracing: a verdict has to survive that."""
    wanted = suites_to_confirm(settings.database, snapshot)
    return [(*unit[:5], tuple(sorted(wanted & set(unit[5]))), True) for unit in units if wanted & set(unit[5])]
