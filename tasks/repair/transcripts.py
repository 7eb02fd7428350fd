"""What the sub-agents of an attempt were told, answered and ran: noted, kept, and looked through.

Generate Tests has notes of its own, since its tests answer for what it saw and not for what came later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tasks.adapters.agents.hiding import packages_of
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.gateway.recorder import as_trajectory, steps_in
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.places import Places
from tasks.domain.repair import SubAgent
from tasks.methods.notes import Notes, RecordedModel
from tasks.methods.resources import InstanceResources
from tasks.methods.trajectory_audit import Suspicion, audit_trajectory, findings, secrets_of


@dataclass(frozen=True, slots=True)
class Noted:
    """A trajectory that was kept."""

    trajectory: str | None
    """SHA-256 of its file; null where nobody was asked."""
    found: tuple[Suspicion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTranscript:
    """Of one attempt. What was not kept when it is left is gone: an attempt that goes on is told it all again."""

    store: Store
    instance: TaskInstance
    packages: frozenset[str]
    """Names under which the project is imported."""
    writing: Notes
    """Of Generate Tests."""
    working: Notes
    """Of all others."""

    def noted(self, agent: SubAgent, model: Model) -> Model:
        """The model of a sub-agent, with notes of what it is asked and answers."""
        return RecordedModel(model, self.writing if agent is SubAgent.GENERATE_TESTS else self.working)

    def keep_tests(self, tests: Candidate) -> tuple[str | None, tuple[TrajectoryAudit, ...]]:
        """The trajectory of Generate Tests, and what speaks against the tests that it handed in."""
        heard = self.writing.close()
        secrets = secrets_of(self.instance, packages=self.packages)
        return self._kept(heard), audit_trajectory(tests, as_trajectory(steps_in(heard)), secrets)

    def keep_repair(self, given: str) -> Noted:
        """The trajectory of the others, who were given the tests of the patch `given`."""
        heard = self.working.close()
        secrets = secrets_of(self.instance, packages=self.packages, given=[given])
        return Noted(self._kept(heard), tuple(findings(as_trajectory(steps_in(heard)), secrets)))

    def of_agent(self, trajectory: str, given: str) -> Noted:
        """The same of an agent of other people, whose trajectory the gateway kept."""
        with self.store.open_file(trajectory) as file:
            steps = as_trajectory(steps_in(file.read()))
        secrets = secrets_of(self.instance, packages=self.packages, given=[given])
        return Noted(trajectory, tuple(findings(steps, secrets)))

    def _kept(self, heard: bytes) -> str | None:
        return self.store.put_file(heard) if heard else None


@contextmanager
def notes_of(places: Places, store: Store, hands: InstanceResources) -> Iterator[AttemptTranscript]:
    """The notes of an attempt, in a folder that goes away."""
    with spare_folder(places.scratch) as folder:
        yield AttemptTranscript(
            store=store,
            instance=hands.instance,
            packages=packages_of(hands.paths),
            writing=Notes(folder / "tests"),
            working=Notes(folder / "repair"),
        )
