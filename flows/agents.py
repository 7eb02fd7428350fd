"""Agents of other people: which are installed here, and how they get here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from flows.asking import text_table
from flows.settings import Settings
from tasks.adapters.agents.base import Agent
from tasks.adapters.agents.catalogue import AGENTS, agent_named
from tasks.adapters.agents.install import Installed, Installer, ready
from tasks.domain.errors import NotFound, SwtError


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInstalls:
    """What installing came to."""

    text: str
    """One line for each agent that is there now."""
    problems: tuple[str, ...]
    """One for each that is not, and why."""
    exit_code: int
    """0 done, 1 some are missing, 3 none is there."""


def list_agents(settings: Settings) -> str:
    """All that are known, as a table: the pinned release, and the folder that it is installed in."""
    table = text_table(pa.Table.from_pylist([_row(agent, _found(settings, agent)) for agent in AGENTS]))
    return f"{table}\nfolders are below {settings.places.agents}"


def install_agents(settings: Settings, names: Sequence[str], environ: Mapping[str, str]) -> AgentInstalls:
    """Each into an environment of its own below the cache, unless it is there; one that fails keeps none from it.

    `NotFound` for a name that is not known, before anything is done.
    """
    agents = [agent_named(name) for name in dict.fromkeys(names)] or list(AGENTS)
    installer = Installer(folder=settings.places.agents, environ=environ, sources=settings.places.mirrors)
    lines, problems = [], []
    for agent in agents:
        try:
            lines.append(_said(agent, installer.install(agent)))
        except SwtError as error:
            problems.append(f"error[{error.slug}]: {agent.name}: {error} (hint: {error.hint})")
    return AgentInstalls(
        text="\n".join(lines), problems=tuple(problems), exit_code=0 if not problems else 1 if lines else 3
    )


def _found(settings: Settings, agent: Agent) -> Installed | None:
    try:
        return ready(settings.places.agents, agent)
    except NotFound:
        return None


def _row(agent: Agent, found: Installed | None) -> dict[str, object]:
    return {
        "agent": agent.name,
        "release": agent.kit.release,
        "dialect": agent.dialect,
        "packages": len(found.lock) if found else None,
        "installed": found.root.name if found else None,
    }


def _said(agent: Agent, made: Installed) -> str:
    return f"{agent.name} {agent.kit.release}: {made.root} ({len(made.lock)} packages, {made.seconds:g} s)"
