"""Predictions in, verdicts out: what a user of the public harness comes for.

    candidates ─► submissions, suites ─► environments ─► runs ─► guard runs of would-be successes ─► verdicts

Every step reads and writes rows of the store and skips what is there: the same request twice starts no test process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flows.fan_out import FanOut, Threads, Unit
from flows.settings import Settings
from flows.summary import EvaluationSummary, Tally, standing, summarise
from tasks.adapters.store.database import ensure_views
from tasks.adapters.store.warehouse import Store
from tasks.coverage.task import record_changed_lines
from tasks.domain.names import SuiteId
from tasks.domain.outcome import Policy, Tracer
from tasks.environment.task import CheckSettings, prepare_environment, why_unready
from tasks.evaluate.task import Purpose, RunSettings, check_sandbox, choose_instances, run_suites, take_candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """What to judge, and how."""

    candidates: tuple[str, ...]
    """Paths of predictions files, `golden`, `nop`, `stored:METHOD` and `stored:METHOD@MODEL` (what is in the store)."""
    snapshot: str
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    policy: Policy = Policy.TESTS_ONLY
    coverage: bool = True
    """Watch the changed lines; without it there is no ΔC and no confirmation is needed."""
    confirm: bool = True
    """Repeat, without tracing, would-be successes that no guard run speaks for, and a sample of the others."""
    guards: bool = True
    """Run would-be successes again in another order, on a placebo and on a paraphrase; without, S_guarded is null."""
    trusted: bool = False
    """Whether the code may run in a sandbox that isolates nothing."""

    def check_settings(self, settings: Settings) -> CheckSettings:
        return CheckSettings(sandbox=settings.sandbox, trusted=self.trusted)

    def run_settings(self, settings: Settings) -> RunSettings:
        tracer = Tracer.PROBE if self.coverage else Tracer.NONE
        return RunSettings(sandbox=settings.sandbox, trusted=self.trusted, limits=settings.limits, tracer=tracer)


def evaluate_here(request: EvaluationRequest, settings: Settings) -> EvaluationSummary:
    """Evaluate in this process, on threads, with no server."""
    return run_evaluation(request, settings, Threads(settings.workers))


def run_evaluation(request: EvaluationRequest, settings: Settings, fan_out: FanOut) -> EvaluationSummary:
    """The story. `fan_out` says where units of work run; the result is the same."""
    places, run = settings.places, request.run_settings(settings)
    check_sandbox(places, run)
    store = Store(settings.store)
    torn = store.quarantine()
    instances = choose_instances(places, request.snapshot, request.instances)
    record_changed_lines(places, instances)
    taken = take_candidates(places, request.candidates, instances, request.policy, request.coverage)
    work = Tally(taken, torn)
    names = [name for name, suites in taken.suites.items() if suites]
    check = request.check_settings(settings)
    prepared = fan_out("environments", prepare_environment, [(places, check, request.snapshot, name) for name in names])
    without = [name for name, found in zip(names, prepared, strict=True) if found is None]
    work.environments(names, prepared, why_unready(places, without))
    units: list[Unit] = [
        (places, run, request.snapshot, name, env, taken.suites[name]) for name, env in work.ready.items()
    ]
    work.ran(units, fan_out("runs", run_suites, units))
    again = _Again(store, fan_out, work, units)
    found = standing(settings, request.snapshot)
    if request.guards and again.run("guards", Purpose.GUARD, found.to_guard):
        found = standing(settings, request.snapshot)
    if request.confirm and request.coverage and again.run("confirmations", Purpose.CONFIRM, found.to_confirm):
        found = standing(settings, request.snapshot)
    ensure_views(settings.store, settings.database, settings.sql)
    return summarise(found.table, work)


@dataclass(frozen=True, slots=True)
class _Again:
    """Further runs of some suites of the units."""

    store: Store
    fan_out: FanOut
    work: Tally
    units: Sequence[Unit]

    def run(self, label: str, purpose: Purpose, wanted: frozenset[SuiteId]) -> bool:
        """Make what is missing; whether the store knows more now."""
        before = self.store.version()
        units: list[Unit] = [
            (*unit[:5], tuple(sorted(wanted & set(unit[5]))), purpose) for unit in self.units if wanted & set(unit[5])
        ]
        self.work.ran(units, self.fan_out(label, run_suites, units))
        return self.store.version() != before
