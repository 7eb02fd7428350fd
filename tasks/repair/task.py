"""Repair: instances and failing tests in, patches out. What is in the store is not made again.

Reads `task_instance`, `environment`, `candidate`, `leak_audit`; writes `repair_step`, `lone_case` and `repair_patch` as
they come about, `candidate`, `generation` and `trajectory_audit` for tests of its own, `repair_audit`, and
`repair_attempt` last. An attempt that was killed goes on where it was: its model calls are replayed, and what it saw is
in its journal (`<cache>/journals`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.llm.base import Model
from tasks.adapters.store.maintenance.claims import claims_of
from tasks.adapters.store.tables.store import Store
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.candidate import Candidate
from tasks.domain.environment import Environment
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.method_task import MethodTask
from tasks.domain.names import InstanceKey, ModelName, content_key
from tasks.domain.places import Places
from tasks.domain.repair import RepairAttempt, RepairEnd, Roles, SubAgent
from tasks.domain.undone import InEnvironment
from tasks.methods.briefing import brief
from tasks.methods.replay_log import ReplayLog, journal_of
from tasks.methods.resources import InstanceResources
from tasks.repair.agents import Outing, made_of, repairing
from tasks.repair.generating import ReproductionWriter
from tasks.repair.prompts import PROMPTS
from tasks.repair.rows import AttemptRows
from tasks.repair.settings import GENERATE, GOLDEN, METHOD, RepairSettings, TdflowLimits
from tasks.repair.sub_agents import SubAgents
from tasks.repair.suite import TargetTests
from tasks.repair.tdflow import Tdflow, Worked
from tasks.repair.transcripts import AttemptTranscript, notes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairWork(InEnvironment):
    """One instance, to be repaired by a model with somebody's tests."""

    model: str
    tests: str = GOLDEN
    """`golden` for those that people wrote, `METHOD@MODEL` for a candidate in the store, `generate` for those that a
    sub-agent writes first."""
    roles: Roles = ()
    """Sub-agents with a model of their own."""
    method: str = METHOD
    """TDFlow, or the name of an agent of other people."""

    @property
    def scope(self) -> str:
        other = [self.method] if self.method != METHOD else []
        return " ".join((self.snapshot, *other, self.model, self.tests, *map("=".join, self.roles)))

    def model_of(self, agent: SubAgent) -> str:
        return dict(self.roles).get(agent.value.replace("-", "_"), self.model)


Models = Callable[[RepairWork, InstanceKey, SubAgent, str], Model]
"""The model for one sub-agent and step of the work on one instance, metered and recorded as such."""


def repair(places: Places, settings: RepairSettings, models: Models, unit: RepairWork) -> RepairAttempt:
    """The attempt at one instance: the finished one of the store, or a new one.

    Raises `LeakFound` where it would see something of the future, `NotFound` where instance or tests cannot be read,
    `BadInput` for tests that cannot be placed. What provider or budget fail at passes through; it can be begun again.
    """
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=unit.snapshot, instance_id=unit.instance_id)
    (environment,) = store.read(Environment, env_id=unit.env_id)
    hands = InstanceResources.of(places, settings, instance, environment)
    tests, tests_usd = (None, None) if unit.tests == GENERATE else _tests(store, unit, hands)
    attempt_id = _attempt_id(unit, hands, settings, tests)
    if known := store.read(RepairAttempt, attempt_id=attempt_id):
        return known[0]
    hands.pass_gate(store)
    # Two who work at once would share a journal, and each ask about what it saw itself.
    with claims_of(store, places.cache).claim(f"repair-{attempt_id}", wait=True):
        if known := store.read(RepairAttempt, attempt_id=attempt_id):
            return known[0]
        method = settings.method(unit.tests, unit.roles, unit.method)
        rows = AttemptRows(store, instance, unit.env_id, attempt_id, method, ModelName(unit.model))
        with (
            journal_of(places, attempt_id) as journal,
            notes_of(places, store, hands) as notes,
            LocalWorkbench(hands.supplies()) as bench,
        ):
            work = _Work(unit, settings.tdflow, models, rows, journal, notes, bench)
            task = brief(instance, environment, hands.paths, hands.read, hands.history)
            if unit.method == METHOD:
                attempt = work.by_tdflow(task, tests, tests_usd)
            else:
                assert tests
                attempt = work.by_agent(task, tests, tests_usd)
            journal.finish()
        return attempt


@dataclass(frozen=True, slots=True)
class _Work:
    """One attempt under way."""

    unit: RepairWork
    limits: TdflowLimits
    models: Models
    rows: AttemptRows
    journal: ReplayLog
    notes: AttemptTranscript
    bench: LocalWorkbench

    def by_tdflow(self, task: MethodTask, tests: TargetTests | None, tests_usd: float | None) -> RepairAttempt:
        """Sub-agents work, the first of them on the tests where none are given."""
        rows, started = self.rows, datetime.now(UTC)
        agents = SubAgents(
            models=lambda agent, step: self.notes.noted(agent, self.model(agent, step)),
            limits=self.limits,
            step=rows.step,
        )
        name = tests.name if tests else rows.tests_name
        if tests is None:
            writer = ReproductionWriter(name=name, task=task, bench=self.bench, journal=self.journal)
            rows.tests(writer.work(agents), self.notes)
            tests, tests_usd = writer.tests, rows.tests_usd
        worked = Worked(end=RepairEnd.NO_TESTS)
        if tests:
            worked = Tdflow(
                task=task,
                tests=tests,
                bench=self.bench,
                agents=agents,
                journal=self.journal,
                patch=rows.patch,
                lone=rows.lone,
            ).work()
        noted = self.notes.keep_repair(tests.patch if tests else "")
        return rows.attempt(name, tests_usd, worked, started, noted)

    def by_agent(self, task: MethodTask, tests: TargetTests, tests_usd: float | None) -> RepairAttempt:
        """An agent of other people does all of it."""
        rows, started = self.rows, datetime.now(UTC)
        worked, trajectory = Outing(
            agent=repairing(self.unit.method),
            task=task,
            tests=tests,
            bench=self.bench,
            model=self.model(SubAgent.AGENT, SubAgent.AGENT.value),
            limits=self.limits,
            journal=self.journal,
            step=rows.agent,
            patch=rows.patch,
        ).work()
        noted = self.notes.of_agent(trajectory, tests.patch)
        return rows.attempt(tests.name, tests_usd, worked, started, noted)

    def model(self, agent: SubAgent, step: str) -> Model:
        return self.models(self.unit, self.rows.instance.instance_key, agent, step)


def _tests(store: Store, unit: RepairWork, hands: InstanceResources) -> tuple[TargetTests, float | None]:
    """The tests that the work is given, and what generating them cost."""
    if unit.tests == GOLDEN:
        instance = hands.instance
        return TargetTests.of_patch(GOLDEN, instance.test_patch, hands.read, instance.FAIL_TO_PASS), 0.0
    method, _, model = unit.tests.partition("@")
    where = {"instance_id": unit.instance_id, "snapshot": unit.snapshot, "method": method}
    where |= {"model": model} if model else {}
    rows = [row for row in store.read(Candidate, **where, sample=0) if row.patch]
    if not rows:
        raise NotFound(f"there are no tests of {unit.tests} for {unit.instance_id}", hint="swt generate makes them")
    newest = max(rows, key=lambda row: (row.created_at, row.candidate_id))
    return TargetTests.of_patch(unit.tests, newest.patch, hands.read, None), _paid(store, where)


def _paid(store: Store, where: dict[str, str]) -> float | None:
    """What the calls of a method on an instance cost; null where that is unknown, or the tests come from elsewhere."""
    calls = store.read(LlmCall, **where, status=CallStatus.ANSWERED)
    costs = [call.cost_usd for call in calls]
    return None if None in costs or not costs else sum(cost or 0.0 for cost in costs)


def _attempt_id(unit: RepairWork, hands: InstanceResources, settings: RepairSettings, tests: TargetTests | None) -> str:
    """Content key of all that decides an attempt."""
    given = [[change.path, change.after] for change in tests.changes] if tests else []
    wanted = None if tests is None or tests.fail_to_pass is None else sorted(tests.fail_to_pass)
    limits = settings.tdflow
    how = (limits.facts, PROMPTS.texts()) if unit.method == METHOD else made_of(unit.method, limits)
    return content_key(
        "repair-attempt", unit.snapshot, hands.instance.content, hands.environment.env_id, unit.method, unit.model,
        *how, tests.name if tests else GENERATE, given, wanted,
        *filter(None, [unit.roles]),
    )  # fmt: skip
