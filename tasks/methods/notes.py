"""Record what a built-in method asks, receives and runs. Its model calls do not pass the gateway, which records those
of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.llm.base import Model, ModelQuestion, Reply
from tasks.adapters.llm.gateway.recorder import Recorder
from tasks.domain.errors import SwtError


class Notes:
    """Records one method's prompts, replies and commands in the format of the gateway's trajectories. Thread-safe.

    The steps are in a file of `folder` until `close`.
    """

    def __init__(self, folder: Path) -> None:
        self.recorder = Recorder(folder / "trajectory.jsonl")
        self.thread = 0
        """Number of the thread with the latest question."""

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self.recorder.steps

    def ran(self, argv: Sequence[str]) -> None:
        """Record a command that the method runs for its model."""
        self.recorder.ran(self.thread, " ".join(argv), datetime.now(UTC))

    def close(self) -> bytes:
        """Returns the lines of all steps. No step can be recorded afterwards."""
        return self.recorder.close()


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Wraps a model and records its questions and replies."""

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
    """Returns the wrapped model, for an agent whose calls the gateway records."""
    return model.behind if isinstance(model, RecordedModel) else model
