"""The rows of one attempt at a repair, written as it happens."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tasks.adapters.store.files.provenance import provenance
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.generation import Generation, GenerationStatus, Mode
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CaseId, EnvId, MethodName, ModelName
from tasks.domain.repair import LoneCase, RepairAttempt, RepairAudit, RepairPatch, RepairStep, SubAgent
from tasks.repair.agents import AgentStep
from tasks.repair.isolated_case import IsolatedResult, how_it_ended
from tasks.repair.settings import METHOD
from tasks.repair.sub_agents import StepTaken
from tasks.repair.suite import CaseSeen, TestGoal
from tasks.repair.tdflow import PatchTried, Worked
from tasks.repair.transcripts import AttemptTranscript, Noted


class AttemptRows:
    """Writes what happens in one attempt as it happens, and keeps count."""

    def __init__(
        self, store: Store, instance: TaskInstance, env_id: EnvId, attempt_id: str, method: MethodName, model: ModelName
    ) -> None:
        self.store = store
        self.env_id = env_id
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
            "model": model,
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

    def agent(self, taken: AgentStep) -> None:
        account = taken.back.account
        self.calls, self.usd = account.calls, account.cost_usd
        reasons = [f"left-out: {path}" for path in taken.back.left_out]
        reasons += [f"touches-tests: {path}" for path in taken.touched]
        row = RepairStep(
            **self.owner,
            iteration=1,
            agent=SubAgent.AGENT,
            case_id=CaseId(""),
            asked=account.model,
            submitted=bool(taken.patch),
            submission=taken.patch,
            calls=account.calls,
            branches=("ran", *taken.back.ending),
            reasons=tuple(reasons),
            cost_usd=account.cost_usd,
            started_at=taken.started_at,
            finished_at=datetime.now(UTC),
        )
        self.store.write([row])

    def patch(self, tried: PatchTried, goal: TestGoal) -> None:
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

    def lone(self, iteration: int, case: CaseSeen, seen: IsolatedResult) -> None:
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
        return f"{self.owner['method']}@{self.owner['model']}"

    def tests(self, patch: str, notes: AttemptTranscript) -> None:
        """The tests that were written, as a candidate to be judged like others, with how they came about; empty for
        none."""
        method, model, key = self.owner["method"], self.owner["model"], self.instance.instance_key
        row = Candidate(
            candidate_id=Candidate.id_of(key, method, model, 0, patch),
            snapshot=self.instance.snapshot,
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
            snapshot=self.instance.snapshot,
            env_id=self.env_id,
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
