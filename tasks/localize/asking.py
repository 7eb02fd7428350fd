"""One question to the model, asked until the reply can be acted on; every way in which it cannot has its re-prompt."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.localization import LocalizationStatus, StepKind, Turn
from tasks.localize.conversation import Conversation, GaveUp
from tasks.localize.prompts import render, shapes
from tasks.localize.replies import VIEW_FILE, VIEW_README, Action, CallTool, Ranked, Unusable, parse_action
from tasks.localize.repository import plain_path
from tasks.localize.trail import Trail
from tasks.localize.viewing import Viewer

VIEWS = frozenset({VIEW_FILE, VIEW_README})
NO_TOOLS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and what may be answered. A list always may."""

    turn: Turn
    text: str
    tools: frozenset[str]
    rated: bool = False
    """Whether a list needs confidences."""

    @property
    def shapes(self) -> str:
        """How a reply may look, for prompts."""
        return shapes(rated=self.rated, tools=bool(self.tools))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a reply cannot be acted on, and what the model is told."""

    reason: str
    detail: str
    prompt: str
    call: CallTool | None = None
    """The view that was asked for and not shown."""

    @property
    def final(self) -> bool:
        """Whether no other view would be shown either: the view is over, not only to be asked for again."""
        return self.call is not None and self.reason != "invalid-path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Knows what can be viewed and ranked."""

    viewer: Viewer
    trail: Trail
    top_n: int
    reprompts: int

    def ask(self, talk: Conversation, question: Question) -> CallTool | Ranked:
        """A call of a tool that was offered and will show something, or a list of existing files.

        `GaveUp` after the last re-prompt.
        """
        text = question.text
        for attempt in range(self.reprompts + 1):
            action = parse_action(talk.ask(question.turn, text))
            refusal = self._refusal(question, action)
            if refusal is None:
                return self._taken(question.turn, action)
            last = attempt == self.reprompts
            self._note(question.turn, refusal, last)
            text = refusal.prompt
        return self._give_up(talk, question, action, refusal)

    def _taken(self, turn: Turn, action: Action) -> CallTool | Ranked:
        assert not isinstance(action, Unusable)
        if isinstance(action, Ranked):
            action = _plain(action)
            self.trail.answered(turn, ", ".join(action.paths))
        return action

    def _note(self, turn: Turn, refusal: Refusal, last: bool) -> None:
        """The step of a refused reply. The last one without a view becomes the step of the abort."""
        if refusal.call is not None and (last or refusal.final):
            self.trail.refused(turn, StepKind.ABORT_VIEW, refusal.call, refusal.reason, refusal.detail)
        elif not last:
            self.trail.refused(turn, StepKind.REPROMPT, refusal.call, refusal.reason, refusal.detail)

    def _give_up(
        self, talk: Conversation, question: Question, action: Action, refusal: Refusal | None
    ) -> CallTool | Ranked:
        """After the last re-prompt: what is valid of a list; a list instead of a view; or nothing."""
        assert refusal is not None
        if isinstance(action, Ranked) and (kept := self._existing(action)).paths and not _unrated(question, action):
            self.trail.trimmed(question.turn, "dropped-paths", refusal.detail)
            return self._taken(question.turn, kept)
        if refusal.reason == "invalid-path":
            return self.ask(talk, self._closing(question, refusal))
        reason = "still-viewing" if refusal.final else "invalid-output"
        raise GaveUp(LocalizationStatus.ABORTED, question.turn, reason, f"{refusal.reason}: {refusal.detail}")

    def _closing(self, question: Question, refusal: Refusal) -> Question:
        """The same turn without tools."""
        wanted = shapes(rated=question.rated, tools=False)
        text = render("too_many_views", error=refusal.detail, n=self.top_n, shapes=wanted)
        return Question(turn=question.turn, text=text, tools=NO_TOOLS, rated=question.rated)

    def _refusal(self, question: Question, action: Action) -> Refusal | None:
        """What is wrong with a reply; null if it can be acted on."""
        if isinstance(action, Unusable):
            return _unusable(question, action.reason, action.detail)
        if isinstance(action, Ranked):
            return self._list_refusal(question, action)
        if action.tool in VIEWS and question.turn in (Turn.VIEW, Turn.REVIEW):
            return self._view_refusal(question, action)
        if action.tool not in question.tools:
            return _unusable(question, "wrong-turn", f"{action.tool} cannot be called now")
        return None

    def _list_refusal(self, question: Question, ranked: Ranked) -> Refusal | None:
        if _unrated(question, ranked):
            return _unusable(question, "bad-confidence", "confidence_scores are missing")
        known = self.viewer.repository.paths
        if invalid := [path for path in ranked.paths if plain_path(path) not in known]:
            prompt = render("invalid_list", invalid="\n".join(invalid), n=self.top_n, shapes=question.shapes)
            return Refusal(reason="invalid-list", detail=", ".join(invalid), prompt=prompt)
        return None

    def _view_refusal(self, question: Question, call: CallTool) -> Refusal | None:
        if not question.tools:
            problem, detail = "too-many-views", "a list is wanted"
        elif no_view := self.viewer.problem(call):
            problem, detail = no_view.reason, no_view.detail
        else:
            return None
        if problem == "invalid-path":
            prompt = render("invalid_path", path=call.path or call.tool, error=detail, shapes=question.shapes)
        else:
            wanted = shapes(rated=question.rated, tools=False)
            prompt = render("too_many_views", error=detail, n=self.top_n, shapes=wanted)
        return Refusal(reason=problem, detail=detail, prompt=prompt, call=call)

    def _existing(self, ranked: Ranked) -> Ranked:
        known = self.viewer.repository.paths
        kept = [at for at, path in enumerate(ranked.paths) if plain_path(path) in known]
        confidences = tuple(ranked.confidences[at] for at in kept) if ranked.confidences else ()
        return Ranked(paths=tuple(ranked.paths[at] for at in kept), confidences=confidences)


def _unrated(question: Question, ranked: Ranked) -> bool:
    return question.rated and not ranked.confidences


def _unusable(question: Question, reason: str, detail: str) -> Refusal:
    prompt = render("unusable", error=detail, shapes=question.shapes)
    return Refusal(reason=reason, detail=detail, prompt=prompt)


def _plain(ranked: Ranked) -> Ranked:
    """Paths as the repository has them, each once: where it stands first."""
    first = dict(reversed([(plain_path(path), at) for at, path in enumerate(ranked.paths)]))
    kept = sorted(first.values())
    confidences = tuple(ranked.confidences[at] for at in kept) if ranked.confidences else ()
    return Ranked(paths=tuple(plain_path(ranked.paths[at]) for at in kept), confidences=confidences)
