"""The known agents by name."""

from __future__ import annotations

from tasks.adapters.agents.aider import AIDER
from tasks.adapters.agents.base import Agent
from tasks.adapters.agents.claude_code import CLAUDE_CODE
from tasks.adapters.agents.codex import CODEX
from tasks.adapters.agents.mini_swe_agent import MINI_SWE_AGENT
from tasks.adapters.agents.opencode import OPENCODE
from tasks.adapters.agents.openhands import OPENHANDS
from tasks.adapters.agents.swe_agent import SWE_AGENT, SWE_AGENT_PLUS
from tasks.domain.errors import NotFound

AGENTS: tuple[Agent, ...] = (AIDER, MINI_SWE_AGENT, SWE_AGENT, SWE_AGENT_PLUS, OPENHANDS, CODEX, CLAUDE_CODE, OPENCODE)


def agent_named(name: str) -> Agent:
    """Return the agent with this name. Raises `NotFound` with the known names."""
    for agent in AGENTS:
        if agent.name == name:
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise NotFound(f"there is no agent {name!r}", hint=f"there are {known}")
