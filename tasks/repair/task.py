"""Repair: instances and failing tests in, patches out. What is in the store is not made again.

Reads `task_instance`, `environment`, `candidate`, `leak_audit`; writes `repair_step`, `lone_case` and `repair_patch` as
they come about, `candidate`, `generation` and `trajectory_audit` for tests of its own, `repair_audit`, and
`repair_attempt` last. An attempt that was killed goes on where it was: its model calls are
replayed, and what it saw is in its journal (`<cache>/journals`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tasks.adapters.llm.base import Model
from tasks.adapters.store.provenance import provenance
from tasks.adapters.store.warehouse import Store
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.candidate import Candidate
from tasks.domain.environment import Environment
from tasks.domain.errors import NotFound
from tasks.domain.generation import Generation, GenerationStatus, Mode
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.names import CaseId, EnvId, InstanceKey, MethodName, ModelName, SnapshotName, content_key
from tasks.domain.places import Places
from tasks.domain.repair import (
    LoneCase,
    RepairAttempt,
    RepairAudit,
    RepairEnd,
    RepairPatch,
    RepairStep,
    Roles,
    SubAgent,
)
from tasks.domain.undone import OfInstance
from tasks.methods.briefing import brief
from tasks.methods.hands import Hands
from tasks.methods.journal import journal_of
from tasks.repair.alone import Lone, how_it_ended
from tasks.repair.generating import ReproductionWriter
from tasks.repair.prompts import PROMPTS
from tasks.repair.seen import AttemptNotes, Noted, notes_of
from tasks.repair.settings import GENERATE, GOLDEN, METHOD, RepairSettings
from tasks.repair.sub_agents import StepTaken, SubAgents
from tasks.repair.suite import CaseSeen, GivenTests, Goal
from tasks.repair.tdflow import PatchTried, Tdflow, Worked


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairWork(OfInstance):
    """One instance, to be repaired by a model with somebody's tests."""

    env_id: EnvId
    model: str
    tests: str = GOLDEN
    """`golden` for those that people wrote, `METHOD@MODEL` for a candidate in the store, `generate` for those that a
    sub-agent writes first."""
    roles: Roles = ()
    """Sub-agents with a model of their own."""

    @property
    def scope(self) -> str:
        return " ".join((self.snapshot, self.model, self.tests, *map("=".join, self.roles)))

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
    hands = Hands(
        places=places,
        instance=instance,
        environment=environment,
        sandbox=settings.sandbox,
        trusted=settings.trusted,
        limits=settings.limits,
    )
    tests, tests_usd = (None, None) if unit.tests == GENERATE else _tests(store, unit, hands)
    attempt_id = _attempt_id(unit, hands, settings, tests)
    if known := store.read(RepairAttempt, attempt_id=attempt_id):
        return known[0]
    hands.pass_gate(store)
    rows = _Rows(store, unit, instance, attempt_id, settings.method(unit.tests, unit.roles))
    started = datetime.now(UTC)
    with (
        journal_of(places, attempt_id) as journal,
        notes_of(places, store, hands) as notes,
        LocalWorkbench(hands.supplies()) as bench,
    ):
        task = brief(instance, environment, hands.paths, hands.read, hands.history)
        agents = SubAgents(
            models=lambda agent, step: notes.noted(agent, models(unit, instance.instance_key, agent, step)),
            limits=settings.tdflow,
            step=rows.step,
        )
        name = tests.name if tests else rows.tests_name
        if tests is None:
            writer = ReproductionWriter(name=name, task=task, bench=bench, journal=journal)
            rows.tests(writer.work(agents), notes)
            tests, tests_usd = writer.tests, rows.tests_usd
        worked = Worked(end=RepairEnd.NO_TESTS)
        if tests:
            flow = Tdflow(
                task=task, tests=tests, bench=bench, agents=agents, journal=journal, patch=rows.patch, lone=rows.lone
            )
            worked = flow.work()
        attempt = rows.attempt(name, tests_usd, worked, started, notes.keep_repair(tests.patch if tests else ""))
        journal.finish()
    return attempt


def _tests(store: Store, unit: RepairWork, hands: Hands) -> tuple[GivenTests, float | None]:
    """The tests that the work is given, and what generating them cost."""
    if unit.tests == GOLDEN:
        instance = hands.instance
        return GivenTests.of_patch(GOLDEN, instance.test_patch, hands.read, instance.FAIL_TO_PASS), 0.0
    method, _, model = unit.tests.partition("@")
    where = {"instance_id": unit.instance_id, "snapshot": unit.snapshot, "method": method}
    where |= {"model": model} if model else {}
    rows = [row for row in store.read(Candidate, **where, sample=0) if row.patch]
    if not rows:
        raise NotFound(f"there are no tests of {unit.tests} for {unit.instance_id}", hint="swt generate makes them")
    newest = max(rows, key=lambda row: (row.created_at, row.candidate_id))
    return GivenTests.of_patch(unit.tests, newest.patch, hands.read, None), _paid(store, where)


def _paid(store: Store, where: dict[str, str]) -> float | None:
    """What the calls of a method on an instance cost; null where that is unknown, or the tests come from elsewhere."""
    calls = store.read(LlmCall, **where, status=CallStatus.ANSWERED)
    costs = [call.cost_usd for call in calls]
    return None if None in costs or not costs else sum(cost or 0.0 for cost in costs)


def _attempt_id(unit: RepairWork, hands: Hands, settings: RepairSettings, tests: GivenTests | None) -> str:
    """Content key of all that decides an attempt."""
    given = [[change.path, change.after] for change in tests.changes] if tests else []
    wanted = None if tests is None or tests.fail_to_pass is None else sorted(tests.fail_to_pass)
    return content_key(
        "repair-attempt", unit.snapshot, hands.instance.content, hands.environment.env_id, METHOD, unit.model,
        settings.tdflow.facts, PROMPTS.texts(), tests.name if tests else GENERATE, given, wanted,
        *filter(None, [unit.roles]),
    )  # fmt: skip


class _Rows:
    """Writes what happens in one attempt as it happens, and keeps count."""

    def __init__(
        self, store: Store, unit: RepairWork, instance: TaskInstance, attempt_id: str, method: MethodName
    ) -> None:
        self.store = store
        self.unit = unit
        self.attempt_id = attempt_id
        self.calls = 0
        self.usd: float | None = 0.0
        self.tests_usd: float | None = 0.0
        self.wrote: StepTaken | None = None
        """What Generate Tests did."""
        self.instance = instance
        self.owner: dict[str, Any] = {
            "attempt_id": attempt_id,
            "instance_key": instance.instance_key,
            "instance_id": instance.instance_id,
            "method": method,
            "model": ModelName(unit.model),
        }

    def step(self, taken: StepTaken) -> None:
        self.calls += taken.conversation.calls
        if taken.agent is SubAgent.GENERATE_TESTS:
            self.wrote, self.tests_usd = taken, taken.cost_usd
        else:
            self.usd = None if self.usd is None or taken.cost_usd is None else self.usd + taken.cost_usd
        row = RepairStep(
            **self.owner,
            iteration=taken.iteration,
            agent=taken.agent,
            case_id=CaseId(taken.case_id),
            asked=ModelName(taken.asked),
            submitted=taken.submission is not None,
            submission=taken.submission or "",
            calls=taken.conversation.calls,
            branches=tuple(taken.conversation.path),
            reasons=tuple(taken.conversation.reasons),
            cost_usd=taken.cost_usd,
            started_at=taken.started_at,
            finished_at=taken.finished_at,
        )
        self.store.write([row])

    def patch(self, tried: PatchTried, goal: Goal) -> None:
        row = RepairPatch(
            **self.owner,
            iteration=tried.iteration,
            patch=tried.patch,
            rung=tried.rung,
            revised=tried.revised,
            problem=tried.problem,
            status=tried.run.status if tried.run else None,
            targets=len(goal.targets),
            resolved=max(0, len(goal.targets) - len(tried.failing)) if tried.run else 0,
            guarded=len(goal.guarded),
            broken=tuple(CaseId(case.case_id) for case in tried.broken),
            failing=tuple(CaseId(case.case_id) for case in tried.failing),
            debugged=tried.debugged,
            created_at=datetime.now(UTC),
        )
        self.store.write([row])

    def lone(self, iteration: int, case: CaseSeen, seen: Lone) -> None:
        row = LoneCase(
            **self.owner,
            iteration=iteration,
            case_id=CaseId(case.case_id),
            reason=seen.reason,
            among=how_it_ended(case),
            alone=seen.ended,
            earlier=tuple(map(CaseId, seen.earlier)),
            runs=seen.runs,
            created_at=datetime.now(UTC),
        )
        self.store.write([row])

    @property
    def tests_name(self) -> str:
        """What tests are called that the attempt has written itself."""
        return f"{self.owner['method']}@{self.unit.model}"

    def tests(self, patch: str, notes: AttemptNotes) -> None:
        """The tests that were written, as a candidate to be judged like others, with how they came about; empty for
        none."""
        method, model, key = self.owner["method"], self.owner["model"], self.instance.instance_key
        row = Candidate(
            candidate_id=Candidate.id_of(key, method, model, 0, patch),
            snapshot=SnapshotName(self.unit.snapshot),
            instance_id=self.instance.instance_id,
            instance_key=key,
            method=method,
            model=model,
            sample=0,
            patch=patch,
            provenance="verified",
            source=self.attempt_id,
            problem="",
            created_at=datetime.now(UTC),
        )
        trajectory, suspicions = notes.keep_tests(row)
        self.store.write([row])
        self.store.write(suspicions)
        self.store.write([self._generation(row, trajectory)])

    def _generation(self, tests: Candidate, trajectory: str | None) -> Generation:
        assert self.wrote
        taken, key, model = self.wrote, tests.instance_key, self.owner["model"]
        return Generation(
            generation_id=Generation.id_of(key, METHOD, model, tests.snapshot, self.attempt_id, 0),
            method=MethodName(METHOD),
            model=model,
            snapshot=tests.snapshot,
            instance_id=tests.instance_id,
            instance_key=key,
            config_key=self.attempt_id,
            variant=tests.method,
            mode=Mode.UNIT_TEST,
            given=(),
            sample=0,
            candidate_id=tests.candidate_id,
            status=GenerationStatus.PROPOSED if tests.patch else GenerationStatus.NOTHING,
            path=tuple(taken.conversation.path),
            retries=taken.conversation.retries,
            rung="",
            reasons=tuple(taken.conversation.reasons),
            calls=taken.conversation.calls,
            seconds=round((taken.finished_at - taken.started_at).total_seconds(), 3),
            trajectory=trajectory,
            **asdict(provenance(taken.started_at, taken.finished_at, self.attempt_id)),
        )

    def attempt(
        self, tests: str, tests_usd: float | None, worked: Worked, started: datetime, noted: Noted
    ) -> RepairAttempt:
        chosen = worked.chosen
        self.store.write(
            [RepairAudit(**self.owner, step=one.step, rule=one.rule, detail=one.detail) for one in noted.found]
        )
        row = RepairAttempt(
            **self.owner,
            snapshot=SnapshotName(self.unit.snapshot),
            env_id=self.unit.env_id,
            tests=tests,
            end=worked.end,
            iterations=len(worked.tried),
            iteration=chosen.iteration if chosen else None,
            patch=chosen.patch if chosen else "",
            calls=self.calls,
            cost_usd=self.usd,
            tests_usd=tests_usd,
            trajectory=noted.trajectory,
            started_at=started,
            finished_at=datetime.now(UTC),
        )
        self.store.write([row])
        return row
