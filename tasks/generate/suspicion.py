"""What a method handed in, with what it had seen by then, and what the audit says of that.

A candidate answers for everything that the method was told, answered and ran before it handed it in: the fifth sample
of one conversation for the other four as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tasks.adapters.agents.hiding import packages_of
from tasks.adapters.llm.gateway.recorder import as_trajectory, steps_in
from tasks.adapters.store.rows.store import Store
from tasks.domain.guards import TrajectoryAudit
from tasks.generate.rows import MethodUnit, candidate_of
from tasks.methods.method import Proposal
from tasks.methods.trajectory_audit import audit_trajectory, secrets_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A proposal as it came."""

    proposal: Proposal
    at: datetime
    steps: int
    """Of the stage's notes, by then."""

    def trajectory(self, notes: str) -> str | None:
        """The file that says how it came about: the agent's own, else the notes; null where there is neither."""
        return self.proposal.trajectory or notes or None


def audit_made(
    store: Store, unit: MethodUnit, made: Sequence[Made], notes: str, paths: Sequence[str]
) -> list[TrajectoryAudit]:
    """Findings in the trajectories of what was made. `notes` names the stage's own; `paths` are all files of the base
    commit, which say under what names the project is imported."""
    secrets = secrets_of(unit.instance, packages=packages_of(paths))
    found: list[TrajectoryAudit] = []
    for one in made:
        if sha := one.trajectory(notes):
            with store.open_file(sha) as file:
                steps = steps_in(file.read())
            seen = steps if one.proposal.trajectory else steps[: one.steps]
            found += audit_trajectory(candidate_of(unit, one.proposal, one.at), as_trajectory(seen), secrets)
    return found
