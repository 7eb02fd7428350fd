"""What goes wrong with an agent and is nobody's failed candidate."""

from __future__ import annotations

from tasks.domain.errors import InfrastructureError


class AgentFailed(InfrastructureError):
    """It ended before it asked its model anything, or what it was answered last was trouble of ours."""

    slug = "agent"
