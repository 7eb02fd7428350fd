"""Strength: do tests that tell the broken code from the fixed one also tell a wrong fix from the right one?

    repairs ─► proposed fixes ─► golden tests on each: right or wrong? ─► solved candidates on each ─► rejected?

Verdicts have to be in the store (`swt evaluate`); what was run on a fix before is not run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from flows.asking import text_table
from flows.fan_out import Failed, FanOut, Threads, Unit
from flows.settings import Settings
from flows.summary import INSTANCE
from tasks.adapters.store.database import ensure_views
from tasks.adapters.store.latest import literal
from tasks.adapters.store.loaded import answers
from tasks.domain.names import EnvId, InstanceId, SuiteId
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.evaluate.strength import Proposed, run_on_fixes, take_fixes
from tasks.evaluate.task import Ran, RunSettings, check_sandbox, choose_instances, run_suites


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthRequest:
    """Whose fixes to try, and on which instances."""

    fixes: tuple[str, ...]
    """Paths of repairs files (rows as in a predictions file, whose patches change the code under test) and `partial`:
    the golden patch, each time without another of its changes."""
    snapshot: str
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    trusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthSummary:
    """What came of it."""

    text: str
    """The rows of `strength`, how many fixes are wrong, and what it took."""
    problems: tuple[str, ...]
    exit_code: int
    """0 done, 1 done with failures of ours left, 3 nothing could run."""


def strength_here(request: StrengthRequest, settings: Settings) -> StrengthSummary:
    """Try the fixes in this process, on threads, with no server."""
    return run_strength(request, settings, Threads(settings.workers))


def run_strength(request: StrengthRequest, settings: Settings, fan_out: FanOut) -> StrengthSummary:
    """The story. `fan_out` says where units of work run; the result is the same."""
    places = settings.places
    run = RunSettings(sandbox=settings.sandbox, trusted=request.trusted, limits=settings.limits)
    check_sandbox(places, run)
    instances = choose_instances(places, request.snapshot, request.instances)
    proposed = take_fixes(places, request.fixes, instances)
    work = _Work(proposed)
    check = CheckSettings(sandbox=settings.sandbox, trusted=request.trusted)
    asked = [(places, check, request.snapshot, name) for name in sorted(proposed.fixes)]
    work.prepared(asked, fan_out("environments", prepare_environment, asked))
    suites = _suites(settings, request.snapshot)
    here = {name: (places, run, request.snapshot, name, env) for name, env in work.ready.items() if suites.get(name)}
    work.never_judged(sorted(work.ready.keys() - here.keys()))
    golden: list[Unit] = [(*unit, suites[name][:1]) for name, unit in here.items()]
    work.ran(golden, fan_out("references", run_suites, golden))
    tried: list[Unit] = [(*unit, suites[name], proposed.fixes[name]) for name, unit in here.items()]
    work.ran(tried, fan_out("fixes", run_on_fixes, tried))
    ensure_views(settings.store, settings.database, settings.sql)
    return work.summary(*_answers(settings, request.snapshot, proposed))


@dataclass(slots=True)
class _Work:
    """Counts what the flow does while it does it."""

    proposed: Proposed
    ready: dict[InstanceId, EnvId] = field(default_factory=dict)
    total: Ran = field(default_factory=Ran)
    left: list[str] = field(default_factory=list)
    """One line for each instance on which nothing, or not everything, was run."""

    def prepared(self, units: Sequence[Unit], results: Sequence[EnvId | Failed | None]) -> None:
        for (*_, name), result in zip(units, results, strict=True):
            if isinstance(result, Failed) or result is None:
                self.left.append(f"{name}: {result.error if result else 'no environment is ready'}")
            else:
                self.ready[name] = result

    def never_judged(self, names: Iterable[InstanceId]) -> None:
        self.left += [f"{name}: nothing was judged on it yet, see `swt evaluate`" for name in names]
        for name in names:
            del self.ready[name]

    def ran(self, units: Sequence[Unit], results: Sequence[Ran | Failed]) -> None:
        for unit, result in zip(units, results, strict=True):
            if isinstance(result, Failed):
                self.left.append(f"{unit[INSTANCE]}: {result.error}")
            else:
                self.total += result

    def summary(self, strengths: pa.Table, statuses: str) -> StrengthSummary:
        fixes = sum(map(len, self.proposed.fixes.values()))
        trouble = self.left or self.total.infrastructure or self.proposed.unreadable
        facts = (
            f"{self.proposed.handed_in} fixes handed in, {fixes} different ones to run: {statuses or 'none'}; "
            f"{self.total.executed} runs, {self.total.reused} reused, {self.total.infrastructure} failures of ours"
        )
        return StrengthSummary(
            text=f"{text_table(strengths)}\n{facts}",
            problems=(*self.proposed.problems, *self.left, *self.total.problems),
            exit_code=3 if not self.ready else 1 if trouble else 0,
        )


def _suites(settings: Settings, snapshot: str) -> dict[InstanceId, tuple[SuiteId, ...]]:
    """The golden suite of each instance, and those of the candidates that the grader `paper` calls solved."""
    (found,) = answers(
        settings.store,
        settings.sql,
        ("golden_suite", "task_instance", "verdict", "submission"),
        (
            f"""SELECT t.instance_id, g.suite_id AS golden, list(s.suite_id ORDER BY s.suite_id) AS solved
                FROM task_instance AS t
                JOIN golden_suite AS g ON g.instance_key = t.instance_key
                LEFT JOIN verdict AS v
                    ON v.snapshot = t.snapshot AND v.instance_id = t.instance_id AND v.grader = 'paper' AND v.solved
                LEFT JOIN submission AS s ON s.candidate_id = v.candidate_id AND s.policy = v.policy
                WHERE t.snapshot = {literal(snapshot)}
                GROUP BY ALL""",
        ),
    )
    return {
        InstanceId(row["instance_id"]): tuple(
            SuiteId(suite) for suite in dict.fromkeys([row["golden"], *row["solved"]]) if suite
        )
        for row in found.to_pylist()
    }


def _answers(settings: Settings, snapshot: str, proposed: Proposed) -> tuple[pa.Table, str]:
    """The strength of the snapshot's methods, and how many of these fixes are right and wrong."""
    ids = sorted(fix for fixes in proposed.fixes.values() for fix in fixes)
    table, statuses = answers(
        settings.store,
        settings.sql,
        ("strength", "fix_status"),
        (
            f"FROM strength WHERE snapshot = {literal(snapshot)}",
            f"""SELECT status, count(*) AS n FROM fix_status
                WHERE fix_id IN ({", ".join(map(literal, ids)) or "NULL"}) GROUP BY status ORDER BY status""",
        ),
    )
    return table, ", ".join(f"{row['n']} {row['status']}" for row in statuses.to_pylist())
