"""Run third-party agents as methods: their real programs, with the prompt of this file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tasks.adapters.agents.base import Agent, EditedTests
from tasks.adapters.agents.running import AgentLimits, AgentResult, send
from tasks.adapters.llm.base import Model
from tasks.adapters.patch.render import render
from tasks.adapters.workbench.base import Workbench
from tasks.domain.generation import Mode
from tasks.domain.variant import Variant
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation
from tasks.methods.method import Assignment, MethodBudget, Proposal, replies
from tasks.methods.notes import behind_notes
from tasks.methods.prompts import briefing, fit
from tasks.methods.replies.patches import from_script

SCRIPT = "reproduction_script.py"
TOLD, UNTOLD = "told", "untold"
SAID = 300
"""Characters of the agent's last output that are kept if the run ends badly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """The function of a method that runs a third-party agent. Its one sample is the agent's changes to the checkout."""

    agent: Agent

    def errand(self, assignment: Assignment, budget: MethodBudget) -> str:
        """Returns the prompt for the agent. The agent's first model call contains at least this text."""
        return errand_for(self.agent, assignment, budget)

    def allowance(self, assignment: Assignment, budget: MethodBudget) -> AgentLimits:
        """Returns the limits of the agent's run."""
        calls = replies(self.agent.calls, budget, assignment.variant)
        told = assignment.variant.count("calls") or self.agent.told(calls)
        return AgentLimits(calls=calls, seconds=budget.seconds, told=told)

    def __call__(
        self, assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget
    ) -> Iterator[Proposal]:
        allowance = self.allowance(assignment, budget)
        errand, checks = errand_for(self.agent, assignment, budget), validation_of(assignment)
        back = send(self.agent, errand, bench, behind_notes(model), allowance, checks)
        conversation = Conversation(
            model, budget, path=["ran", *back.ending], reasons=_reasons(back), calls=back.account.calls
        )
        yield replace(_handed_in(assignment, bench, back, conversation), trajectory=back.account.trajectory)


def errand_for(agent: Agent, assignment: Assignment, budget: MethodBudget) -> str:
    """Returns the prompt for the agent. It contains files only if the experiment gives the modified files: agents
    search for files themselves."""
    shown = fit(assignment.context, budget.context_tokens) if assignment.modified_files else ()
    target = "PATH" if assignment.task.test_targets == "path" else "MODULE"
    calls = External(agent=agent).allowance(assignment, budget).told
    facts = briefing(assignment, shown)
    if not told_command(agent, assignment.variant):
        facts["command"] = ""
    return prompt("external.j2", calls=calls, target=target, advice=agent.advice, **facts)


def told_command(agent: Agent, variant: Variant) -> bool:
    """Whether the prompt says how to run tests. In the paper SWE-agent did not get this information."""
    return agent.test_command if variant["test_command"] is None else variant["test_command"] == TOLD


def parameters_of(agent: Agent) -> frozenset[str]:
    """Returns the experiment parameters that change what an agent does."""
    return frozenset({"test_command", *(["validation"] if agent.validates else [])})


def anyway(agent: Agent) -> frozenset[str]:
    """Returns the parameters that apply by default."""
    return frozenset({f"test_command={TOLD if agent.test_command else UNTOLD}"})


def validation_of(assignment: Assignment) -> EditedTests | None:
    task = assignment.task
    asked = assignment.variant["validation"] == "tests"
    return EditedTests(command=task.test_command, targets=task.test_targets) if asked else None


def _handed_in(assignment: Assignment, bench: Workbench, back: AgentResult, conversation: Conversation) -> Proposal:
    """Returns the changes of the checkout; in script mode, the script."""
    if assignment.mode is Mode.REPRODUCTION_SCRIPT:
        script = bench.read(SCRIPT) or ""
        answer = from_script(f"```\n{script.rstrip()}\n```" if script else "", assignment, bench, conversation)
        return conversation.proposal(answer.patch, rung=answer.rung)
    patch = render(back.changes)
    if not patch:
        conversation.wrong("nothing-changed: the checkout is as it was")
    return conversation.proposal(patch, rung="exact" if patch else "")


def _reasons(back: AgentResult) -> list[str]:
    """Returns a line for files that were left out, and the last output if the agent did not end by itself."""
    reasons = [f"left-out: {', '.join(back.left_out)}"] if back.left_out else []
    if back.ending:
        reasons.append(f"ended: {' '.join(back.ending)}: {back.ran.output.strip()[-SAID:]}")
    return reasons
