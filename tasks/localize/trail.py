"""The steps of one localization, in order, as they will be rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks.domain.localization import StepKind, Turn
from tasks.localize.replies import CallTool

DETAIL_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A `localization_step` row without its keys."""

    turn: Turn
    kind: StepKind
    tool: str = ""
    k: int | None = None
    path: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(slots=True)
class Trail:
    """Grows by one step at a time."""

    steps: list[Step] = field(default_factory=list)

    def called(self, turn: Turn, call: CallTool) -> None:
        """A tool that was called and answered."""
        self.steps.append(Step(turn=turn, kind=StepKind.TOOL, tool=call.label, k=call.k, path=call.path))

    def refused(self, turn: Turn, kind: StepKind, call: CallTool | None, reason: str, detail: str) -> None:
        """A reply that could not be followed; `call` is the tool that it asked for."""
        tool, path = (call.label, call.path) if call else ("", "")
        cut = detail[:DETAIL_CHARACTERS]
        self.steps.append(Step(turn=turn, kind=kind, tool=tool, path=path, reason=reason, detail=cut))

    def answered(self, turn: Turn, detail: str) -> None:
        self.steps.append(Step(turn=turn, kind=StepKind.ANSWER, detail=detail[:DETAIL_CHARACTERS]))

    def trimmed(self, turn: Turn, reason: str, detail: str) -> None:
        step = Step(turn=turn, kind=StepKind.TRIMMED, reason=reason, detail=detail[:DETAIL_CHARACTERS])
        self.steps.append(step)

    @property
    def views(self) -> int:
        """Calls of viewing tools, those that showed nothing included."""
        return sum(step.tool.startswith("view_") for step in self.steps)
