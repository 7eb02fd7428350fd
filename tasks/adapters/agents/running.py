"""Runs a third-party agent: a checkout without later history, a sandbox without network, a run
token instead of a key."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tasks.adapters.agents.base import Agent, AgentTask, EditedTests
from tasks.adapters.agents.hiding import hidden
from tasks.adapters.agents.install import Installed, ready
from tasks.adapters.agents.own_work import own_work
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.adapters.llm.gateway.core import PAYER, Gateway, Issued
from tasks.adapters.llm.gateway.forwarding import PORT, Forwarding, forwarding, model_variables
from tasks.adapters.llm.gateway.grant import ANY, Grant
from tasks.adapters.llm.gateway.server import listening
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.router import RoutedModel
from tasks.adapters.patch.render import Change
from tasks.adapters.workbench.base import CommandResult, Inside, Program, Workbench
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.errors import InfrastructureError, UsageError
from tasks.domain.llm import AgentRun
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits

GRACE_S = 30.0
LAST_WORDS = 600
"""Number of characters of the agent's output that an error quotes."""


class AgentFailed(InfrastructureError):
    """The agent ended before its first model call, or its last call failed for an internal reason."""

    slug = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Limits of one run."""

    calls: int
    """Maximum number of model replies."""
    seconds: float
    """Wall time in which the model answers."""
    told: int | None = None
    """Number of replies for the agent's settings; None: `calls`. A program may make more calls than it counts, as Aider
    does for a summary of the chat."""
    grace_s: float = GRACE_S
    """Seconds that the agent may continue after that; then its process tree is killed."""
    memory_mb: int = 4096
    disk_mb: int = 4096
    processes: int = 512

    @property
    def limits(self) -> Limits:
        return Limits(
            wall_s=self.seconds + self.grace_s,
            memory_mb=self.memory_mb,
            disk_mb=self.disk_mb,
            processes=self.processes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """Result of one agent run."""

    changes: tuple[Change, ...]
    """The agent's work."""
    left_out: tuple[str, ...]
    """Paths of other changed files: the agent's own files, and files that the repository ignores."""
    ran: CommandResult
    account: AgentRun
    """The row in the store."""

    @property
    def ending(self) -> tuple[str, ...]:
        """How the run ended, as branches: `budget-calls`, `timed-out`, `exit-1`; empty if the agent ended by itself."""
        ran, words = self.ran, []
        if self.account.stopped:
            words.append(self.account.stopped.replace(": ", "-"))
        if ran.timed_out:
            words.append("timed-out")
        elif ran.exit_code != 0:
            words.append("limit" if ran.exit_code is None else f"exit-{ran.exit_code}")
        return tuple(words)


def send(
    agent: Agent,
    prompt: str,
    bench: Workbench,
    model: Model,
    allowance: AgentLimits,
    validation: EditedTests | None = None,
) -> AgentResult:
    """Run an agent on a workbench. Its work is the state of the checkout when it ends or is killed.

    Raises `NotFound` if the agent is not installed, `UsageError` for a model without a router, `AgentFailed` if it made
    no useful call. Raises `BudgetExhausted` if another payer's budget is used up.
    """
    outing = _Outing(agent, prompt, _local(bench), _switched(model), allowance, validation)
    ran, account = outing.run()
    _refuse(agent, account, ran, outing.model.caller.meters)
    supplies = outing.bench.supplies
    changes, out = own_work(outing.bench.changes(), agent.leftovers, supplies.paths, supplies.read_base)
    return AgentResult(changes=changes, left_out=out, ran=ran, account=account)


@dataclass(frozen=True, slots=True)
class _Outing:
    """One agent run, from the token to the account."""

    agent: Agent
    prompt: str
    bench: LocalWorkbench
    model: RoutedModel
    allowance: AgentLimits
    validation: EditedTests | None

    def run(self) -> tuple[CommandResult, AgentRun]:
        installed = ready(self.bench.supplies.agents, self.agent)
        # The path of a socket has at most 107 bytes; a user's scratch folder may be longer.
        with tempfile.TemporaryDirectory(prefix="swt-agent-") as name:
            folder = Path(name)
            gateway = Gateway(self.model.board, folder / "under-way")
            with listening(gateway, folder) as socket:
                issued = gateway.issue(self._grant())
                start = partial(self._program, installed, issued, self._way(socket))
                try:
                    ran = self.bench.run_program(start)
                finally:
                    account = gateway.finish(issued)
        return ran, account

    def _grant(self) -> Grant:
        caller, name, allowance = self.model.caller, self.model.name, self.allowance
        return Grant(
            work=caller.work,
            model=name,
            aliases={ANY: name},
            budget=Budget(calls=allowance.calls, seconds=allowance.seconds),
            meters=caller.meters,
            options=caller.options,
            valid_s=allowance.seconds + allowance.grace_s,
        )

    def _way(self, place: Path) -> Forwarding:
        """Return the connection to the gateway. Without isolation, runs share the machine's
        ports and need a free one."""
        supplies = self.bench.supplies
        port = _free_port() if supplies.sandbox.kind is SandboxKind.PROCESS else PORT
        return forwarding(place, supplies.sandbox.kind, python=str(supplies.environment().python), port=port)

    def _program(self, installed: Installed, issued: Issued, way: Forwarding, inside: Inside) -> Program:
        errand = AgentTask(
            root=installed.root,
            url=way.url,
            token=issued.token,
            model=self.model.name,
            prompt=self.prompt,
            outbox=inside.outbox,
            checkout=inside.checkout,
            calls=self.allowance.told or self.allowance.calls,
            validation=self.validation,
        )
        launch = self.agent.launch(errand)
        isolates = self.bench.supplies.sandbox.isolates
        covers = hidden(installed, self.bench.paths) if isolates else ()
        return Program(
            argv=(*way.prefix, *launch.argv),
            env=model_variables(way.url, issued) | dict(launch.env),
            mounts=(*installed.mounts, *covers, *way.mounts),
            files=launch.files,
            writable=launch.writable,
            limits=self.allowance.limits,
        )


def _switched(model: Model) -> RoutedModel:
    if not isinstance(model, RoutedModel):
        hint = "take it from `ModelRouter.model`; scripts are served by `python -m tests.fakes.scripted_provider`"
        raise UsageError("an agent needs a model that a gateway can stand before", hint=hint)
    return model


def _local(bench: Workbench) -> LocalWorkbench:
    if not isinstance(bench, LocalWorkbench):
        raise UsageError("an agent needs a bench of this machine", hint="see tasks/adapters/workbench/local.py")
    return bench


def _refuse(agent: Agent, account: AgentRun, ran: CommandResult, payers: Sequence[Meter]) -> None:
    """Raise an error if the run says nothing about the agent."""
    if account.trouble:
        raise AgentFailed(f"{agent.name}: {account.trouble}", hint="what was answered is kept; run it again")
    whose, _, what = account.stopped.partition(": ")
    if whose == PAYER:
        for payer in payers:
            payer.check()
        names = " and ".join(payer.name for payer in payers)
        hint = "what was answered is kept; run it again with a larger budget to go on"
        raise BudgetExhausted(
            f"{names} has too few {what} left for the next call of {agent.name}", what=what, hint=hint
        )
    if not account.calls and not account.stopped:
        ended = "was ended" if ran.exit_code is None else f"ended with exit code {ran.exit_code}"
        words = ran.output.strip()[-LAST_WORDS:]
        hint = "docs/agents.md has the traps of each agent"
        raise AgentFailed(f"{agent.name} {ended} before its model answered anything: {words}", hint=hint)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
