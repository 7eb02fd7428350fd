"""The steps of one localization, in order, as they will be rows: a conversation that notes more than its branches."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks.domain.localization import LocalizationStatus, StepKind, Turn
from tasks.localize.finding import Ending, TrailStep
from tasks.localize.replies import CallTool, RefusedView
from tasks.methods.conversation import Conversation, Unusable

DETAIL_CHARACTERS = 300


@dataclass(slots=True)
class Trail(Conversation):
    """Grows by one step at a time."""

    turn: Turn = Turn.EXTRACT
    """Where the conversation is: what the next steps belong to."""
    steps: list[TrailStep] = field(default_factory=list)

    def called(self, call: CallTool) -> None:
        """A tool that was called and answered."""
        self.steps.append(TrailStep(turn=self.turn, kind=StepKind.TOOL, tool=call.label, k=call.k, path=call.path))

    def answered(self, detail: str) -> None:
        self._note(StepKind.ANSWER, "", detail)

    def trimmed(self, what: str, detail: str) -> None:
        self._note(StepKind.TRIMMED, what, detail)

    def refused(self, problem: Unusable, *, last: bool) -> None:
        """The step of a reply that cannot be acted on. That of the last one without a view is the end of the turn."""
        if isinstance(problem, RefusedView):
            kind = StepKind.ABORT_VIEW if last or problem.final else StepKind.REPROMPT
            self._note(kind, problem.reason, problem.detail, tool=problem.call.label, path=problem.call.path)
        elif not last:
            self._note(StepKind.REPROMPT, problem.reason, problem.detail)

    def ended(self, end: Ending) -> None:
        kind = StepKind.TIMEOUT if end.status is LocalizationStatus.TIMEOUT else StepKind.ABORT
        self._note(kind, end.reason, end.detail)

    @property
    def views(self) -> int:
        """Calls of viewing tools, those that showed nothing included."""
        return sum(step.tool.startswith("view_") for step in self.steps)

    def _note(self, kind: StepKind, reason: str, detail: str, *, tool: str = "", path: str = "") -> None:
        cut = detail[:DETAIL_CHARACTERS]
        self.steps.append(TrailStep(turn=self.turn, kind=kind, tool=tool, path=path, reason=reason, detail=cut))
