"""One question to the model, asked until the reply can be acted on; every way in which it cannot has its re-prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tasks.domain.localization import Turn
from tasks.localize.prompts import prompt
from tasks.localize.replies import VIEW_FILE, VIEW_README, CallTool, Ranked, RefusedList, RefusedView, parse_action
from tasks.localize.repository import plain_path
from tasks.localize.trail import Trail
from tasks.localize.viewing import Viewer
from tasks.methods.conversation import Thread, Unusable

VIEWS = frozenset({VIEW_FILE, VIEW_README})
NO_TOOLS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuestion:
    """What is asked, and what may be answered. A list always may."""

    text: str
    tools: frozenset[str]
    rated: bool = False
    """Whether a list needs confidences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Knows what can be viewed and ranked."""

    viewer: Viewer
    trail: Trail
    top_n: int
    reprompts: int

    def ask(self, thread: Thread, question: TurnQuestion) -> CallTool | Ranked:
        """A call of a tool that was offered and will show something, or a list of existing files.

        After the last re-prompt: what is valid of a list; a list instead of a view; or `Unusable`.
        """
        read, again = partial(self._read, question), partial(self._again, question)
        try:
            action = thread.ask_until(question.text, read, again, tries=self.reprompts + 1)
        except RefusedList as problem:
            action = self._existing(problem.ranked)
            if not action.paths:
                raise
            self.trail.trimmed("dropped-paths", problem.detail)
        except RefusedView as problem:
            if problem.final:
                raise
            closing = self._decide(problem, rated=question.rated)
            return self.ask(thread, replace(question, text=closing, tools=NO_TOOLS))
        if isinstance(action, Ranked):
            action = _plain(action)
            self.trail.answered(", ".join(action.paths))
        return action

    def _read(self, question: TurnQuestion, text: str) -> CallTool | Ranked:
        """The action of a reply; `Unusable` where it cannot be followed now."""
        action = parse_action(text)
        if isinstance(action, Ranked):
            self._check_list(question, action)
        elif action.tool in VIEWS and self.trail.turn in (Turn.VIEW, Turn.REVIEW):
            self._check_view(question, action)
        elif action.tool not in question.tools:
            raise Unusable("wrong-turn", f"{action.tool} cannot be called now")
        return action

    def _check_list(self, question: TurnQuestion, ranked: Ranked) -> None:
        if question.rated and not ranked.confidences:
            raise Unusable("bad-confidence", "confidence_scores are missing")
        known = self.viewer.repository.paths
        if invalid := [path for path in ranked.paths if plain_path(path) not in known]:
            raise RefusedList(ranked, tuple(invalid))

    def _check_view(self, question: TurnQuestion, call: CallTool) -> None:
        if not question.tools:
            raise RefusedView("too-many-views", "a list is wanted", call)
        if problem := self.viewer.problem(call):
            raise RefusedView(problem.reason, problem.detail, call)

    def _again(self, question: TurnQuestion, problem: Unusable) -> str:
        """The re-prompt for a reply."""
        shape = {"rated": question.rated, "tools": bool(question.tools)}
        match problem:
            case RefusedList():
                return prompt("invalid_list.j2", invalid="\n".join(problem.invalid), n=self.top_n, **shape)
            case RefusedView(final=True):
                return self._decide(problem, rated=question.rated)
            case RefusedView():
                path = problem.call.path or problem.call.tool
                return prompt("invalid_path.j2", path=path, error=problem.detail, **shape)
        return prompt("unusable.j2", error=problem.detail, **shape)

    def _decide(self, problem: Unusable, *, rated: bool) -> str:
        """Asks for a list instead of a view."""
        return prompt("too_many_views.j2", error=problem.detail, n=self.top_n, rated=rated, tools=False)

    def _existing(self, ranked: Ranked) -> Ranked:
        known = self.viewer.repository.paths
        return ranked.only(at for at, path in enumerate(ranked.paths) if plain_path(path) in known)


def _plain(ranked: Ranked) -> Ranked:
    """Paths as the repository has them, each once: where it stands first."""
    first = dict(reversed([(plain_path(path), at) for at, path in enumerate(ranked.paths)]))
    kept = ranked.only(sorted(first.values()))
    return replace(kept, paths=tuple(map(plain_path, kept.paths)))
