"""Agents of other people as methods of repair, beside TDFlow (the TDFlow paper, section 4.1 and appendix B).

As the paper did with its baselines, an agent is given the tests: they are in its checkout, it is told their names, and
how they are run. What it leaves in the checkout is its only patch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.agents.base import Agent
from tasks.adapters.agents.catalogue import agent_named
from tasks.adapters.agents.mini_swe_agent import SUBMIT
from tasks.adapters.agents.running import AgentLimits, AgentResult, send
from tasks.adapters.llm.base import Model
from tasks.adapters.patch.model import Rung
from tasks.adapters.patch.render import Change, render
from tasks.adapters.workbench.base import Workbench
from tasks.domain.method_task import MethodTask
from tasks.domain.repair import RepairEnd
from tasks.methods.prompts import Templates
from tasks.methods.replay_log import ReplayLog
from tasks.repair.settings import TdflowLimits
from tasks.repair.suite import TargetTests, TestGoal, Trials
from tasks.repair.tdflow import PatchTried, Worked

ERRAND = Templates(Path(__file__).parent / "errand")
CALLS = 250
"""Replies that an agent gets: what TDFlow gives its longest sub-agent, and mini-swe-agent itself by default."""
ADVICE: Mapping[str, str] = {
    "aider": "You see a map of the repository; ask for the files that you need, then change them.",
    "mini_swe_agent": (
        "You work in a shell at the root of the repository: every reply calls the tool `bash` with one command, which "
        f"starts in a fresh shell. When the tests pass, the command is `{SUBMIT}`, alone."
    ),
    "swe_agent": "Every reply calls one tool. When the tests pass, call `submit`.",
}
"""What an agent has for tools, and when it is done. Its own `advice` is about writing tests."""
OTHERWISE = "Work until the tests pass, then stop."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outing:
    """One attempt of an agent at one instance."""

    agent: Agent
    task: MethodTask
    tests: TargetTests
    bench: Workbench
    model: Model
    limits: TdflowLimits
    journal: ReplayLog
    step: Callable[[AgentStep], None]
    patch: Callable[[PatchTried, TestGoal], None]

    def work(self) -> tuple[Worked, str]:
        """What it came to, and the name of the file with what the agent was told, answered and ran.

        As `Tdflow.work` where the tests are no goal, and as `send` where the agent did not come to work.
        """
        trials = Trials(bench=self.bench, tests=self.tests, journal=self.journal)
        goal = trials.goal()
        started = datetime.now(UTC)
        with trials.fork(()) as bench:
            calls = self.agent.calls
            allowance = AgentLimits(calls=calls, seconds=self.limits.seconds, told=self.agent.told(calls))
            back = send(self.agent, self.errand(goal), bench, self.model, allowance)
        changes = self._own(back.changes)
        patch = render(changes)
        self.step(AgentStep(back=back, patch=patch, touched=self._touched(changes), started_at=started))
        if not patch:
            return Worked(end=RepairEnd.ITERATIONS), back.account.trajectory
        run = trials.run("1", changes)
        tried = PatchTried(
            iteration=1,
            patch=patch,
            changes=changes,
            rung=Rung.EXACT.value,
            run=run,
            failing=goal.failing(run),
            broken=goal.broken(run),
        )
        self.patch(tried, goal)
        end = RepairEnd.PASSED if tried.passed else RepairEnd.ITERATIONS
        return Worked(end=end, tried=(tried,)), back.account.trajectory

    def errand(self, goal: TestGoal) -> str:
        """What the agent is told."""
        shown = goal.targets[: self.limits.debugged]
        return ERRAND.render(
            "errand.j2",
            task=self.task,
            failing=shown,
            left_out=len(goal.targets) - len(shown),
            files=[change.path for change in self.tests.changes],
            calls=self.agent.told(self.agent.calls),
            advice=advice_for(self.agent),
        )

    def _own(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """Without the tests that it was given, where it left them as they were."""
        given = {change.path: change.after for change in self.tests.changes}
        return tuple(one for one in changes if one.path not in given or given[one.path] != one.after)

    def _touched(self, changes: tuple[Change, ...]) -> tuple[str, ...]:
        return tuple(one.path for one in changes if one.path in {change.path for change in self.tests.changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep:
    """What an agent did."""

    back: AgentResult
    patch: str
    touched: tuple[str, ...]
    """Tests that it was given, and changed or deleted."""
    started_at: datetime


def repairing(name: str) -> Agent:
    """The agent of that name, with as many replies as a repair takes. `NotFound` names those that there are."""
    return replace(agent_named(name), calls=CALLS)


def advice_for(agent: Agent) -> str:
    """What the errand says at its end."""
    return ADVICE.get(agent.program or agent.name, OTHERWISE)


def made_of(name: str, limits: TdflowLimits) -> list[object]:
    """What decides the work of an agent beside instance, tests and model."""
    agent = repairing(name)
    return [agent.key, advice_for(agent), ERRAND.texts(), limits.debugged, limits.seconds]
