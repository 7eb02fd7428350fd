"""Notes of what a method of ours was told, answered and ran: no gateway stands before its model and writes it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.llm.base import Model, ModelQuestion, Reply
from tasks.adapters.llm.gateway.recorder import Recorder
from tasks.domain.errors import SwtError


class Notes:
    """What one method was told, answered and ran, in the format of the gateway's trajectories. Thread-safe.

    They are kept in a file of `folder` until they are closed.
    """

    def __init__(self, folder: Path) -> None:
        self.recorder = Recorder(folder / "trajectory.jsonl")
        self.thread = 0
        """Number of the conversation that was last spoken in."""

    @property
    def steps(self) -> int:
        """So far."""
        return self.recorder.steps

    def ran(self, argv: Sequence[str]) -> None:
        """Note a command that the method runs for its model."""
        self.recorder.ran(self.thread, " ".join(argv), datetime.now(UTC))

    def close(self) -> bytes:
        """The lines of all steps; nothing is noted afterwards."""
        return self.recorder.close()


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """The model `behind`, with notes of what it is asked and answers."""

    behind: Model
    notes: Notes = field(repr=False)

    @property
    def name(self) -> str:
        return self.behind.name

    def complete(self, question: ModelQuestion) -> Reply:
        recorder = self.notes.recorder
        thread = self.notes.thread = recorder.asked(question.messages, "", datetime.now(UTC))
        try:
            reply = self.behind.complete(question)
        except SwtError as error:
            recorder.failed(thread, f"{error.slug}: {error}", "", datetime.now(UTC))
            raise
        recorder.answered(thread, reply, "", datetime.now(UTC))
        return reply


def behind_notes(model: Model) -> Model:
    """The model itself, for an agent behind the gateway, which writes down what it does."""
    return model.behind if isinstance(model, RecordedModel) else model
