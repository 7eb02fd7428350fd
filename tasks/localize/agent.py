"""The localization agent: extract, retrieve, view, review (methods.md; the supplement's sections S.2.2 to S.2.6).

Each turn asks one question until the reply is something to act on, re-prompting for what is not. Errors of ours pass
through; everything else ends in a `Finding`, whose steps tell the way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tasks.adapters.llm.base import Model
from tasks.adapters.retrieval.budget import estimated_tokens, fitting
from tasks.adapters.retrieval.search import Hit
from tasks.domain.localization import LocalizationStatus, Report, StepKind, Turn
from tasks.domain.names import RepoPath
from tasks.localize.asking import VIEWS, Asker, Question
from tasks.localize.conversation import Clock, Conversation, GaveUp, Limits, opened, shortened
from tasks.localize.finding import Finding, Place
from tasks.localize.prompts import render, shapes
from tasks.localize.replies import EXTRACT, SEARCHES, CallTool, Extracted, Ranked, Unusable, parse_extracted
from tasks.localize.repository import Repository
from tasks.localize.settings import AgentSettings
from tasks.localize.trail import Trail
from tasks.localize.viewing import Viewer


def investigate(
    report: Report, repository: Repository, model: Model, settings: AgentSettings, *, clock: Clock = time.monotonic
) -> Finding:
    """Locate the bug of a report."""
    trail = Trail()
    limits = Limits(settings=settings, clock=clock, started=clock())
    one = _Investigation(report, repository, model, settings, trail, limits)
    try:
        ranked = one.find()
    except GaveUp as end:
        one.note(end)
        return one.finding(end.status, end.reason, Ranked(paths=()), reviewed=False)
    try:
        return one.finding(LocalizationStatus.RANKED, "", one.review(ranked), reviewed=True)
    except GaveUp as end:
        one.note(end)
        return one.finding(LocalizationStatus.RANKED, "", ranked, reviewed=False)


@dataclass(slots=True)
class _Investigation:
    report: Report
    repository: Repository
    model: Model
    settings: AgentSettings
    trail: Trail
    limits: Limits
    hits: tuple[Hit, ...] = ()
    viewer: Viewer = field(init=False)
    asker: Asker = field(init=False)
    statement: str = field(init=False)

    def __post_init__(self) -> None:
        self.viewer = Viewer(self.repository, self.settings, self.settings.views)
        reprompts, top_n = self.settings.reprompts, self.settings.top_n
        self.asker = Asker(viewer=self.viewer, trail=self.trail, top_n=top_n, reprompts=reprompts)
        self.statement = shortened(self.report.statement, self.settings.statement_tokens)
        if self.statement != self.report.statement:
            self.trail.trimmed(Turn.EXTRACT, "statement", f"{len(self.report.statement)} characters")

    def find(self) -> Ranked:
        """Turns 1 to 3: the first valid list."""
        talk = self._open("system")
        first = render("extract_turn", repo=self.report.repo, statement=self.statement, **self._common())
        action = self.asker.ask(talk, Question(turn=Turn.EXTRACT, text=first, tools=frozenset({EXTRACT})))
        if isinstance(action, Ranked):
            return action
        self.trail.called(Turn.EXTRACT, action)
        extracted = self._extract()
        second = render("retrieve_turn", extracted=extracted.text, **self._common())
        action = self.asker.ask(talk, Question(turn=Turn.RETRIEVE, text=second, tools=frozenset(SEARCHES)))
        if isinstance(action, Ranked):
            return action
        self.trail.called(Turn.RETRIEVE, action)
        return self._view(talk, action, extracted)

    def review(self, ranked: Ranked) -> Ranked:
        """The list again with confidences, best first: a conversation of its own, which sees the evidence only."""
        talk = self._open("review_system")
        self.viewer.allowed = len(self.viewer.shown) + self.settings.review_views
        text = render(
            "review",
            statement=self.statement,
            results=_listed(hit.path for hit in self.hits),
            viewed=self._evidence(),
            answer=", ".join(ranked.paths),
            n=self.settings.top_n,
            shapes=shapes(rated=True, tools=True),
        )
        rated = self._looking(talk, Question(turn=Turn.REVIEW, text=text, tools=VIEWS, rated=True))
        order = sorted(range(len(rated.paths)), key=lambda at: -rated.confidences[at])
        return Ranked(
            paths=tuple(rated.paths[at] for at in order), confidences=tuple(rated.confidences[at] for at in order)
        )

    def finding(self, status: LocalizationStatus, reason: str, ranked: Ranked, *, reviewed: bool) -> Finding:
        scores = {hit.path: hit.score for hit in self.hits}
        paths = [RepoPath(path) for path in ranked.paths]
        confidences: Sequence[int | None] = ranked.confidences or [None] * len(paths)
        ranking = tuple(
            Place(path=path, score=scores.get(path), confidence=confidence)
            for path, confidence in zip(paths, confidences, strict=True)
        )
        return Finding(
            status=status,
            reason=reason,
            ranking=ranking[: self.settings.top_n],
            reviewed=reviewed,
            steps=tuple(self.trail.steps),
            calls=self.limits.calls,
            views=self.trail.views,
        )

    def note(self, end: GaveUp) -> None:
        kind = StepKind.TIMEOUT if end.status is LocalizationStatus.TIMEOUT else StepKind.ABORT
        self.trail.refused(end.turn, kind, None, end.reason, end.detail)

    def _extract(self) -> Extracted:
        """What the tool `extract_relevant` returns: a question of its own to the model."""
        talk = self._open("system")
        wanted = render("extract_shape")
        found = parse_extracted(talk.ask(Turn.EXTRACT, render("extract", statement=self.statement, shapes=wanted)))
        for _ in range(self.settings.reprompts):
            if isinstance(found, Extracted):
                break
            self.trail.refused(Turn.EXTRACT, StepKind.REPROMPT, None, found.reason, found.detail)
            found = parse_extracted(talk.ask(Turn.EXTRACT, render("unusable", error=found.detail, shapes=wanted)))
        if isinstance(found, Unusable):
            detail = f"{found.reason}: {found.detail}"
            raise GaveUp(LocalizationStatus.ABORTED, Turn.EXTRACT, "invalid-output", detail)
        return found if found.text else Extracted(explanation=self.statement, code=(), errors=(), paths=())

    def _view(self, talk: Conversation, search: CallTool, extracted: Extracted) -> Ranked:
        title = self.report.statement.strip().partition("\n")[0]
        self.hits = self.repository.search(f"{title}\n{extracted.text}", search.k or 0)
        text = render(
            "view_turn",
            k=search.k,
            results=_listed(hit.path for hit in self.hits),
            views=self.settings.views,
            views_per_file=self.settings.views_per_file,
            **self._common(),
        )
        return self._looking(talk, Question(turn=Turn.VIEW, text=text, tools=VIEWS))

    def _looking(self, talk: Conversation, question: Question) -> Ranked:
        """Show files until there is a list."""
        while True:
            action = self.asker.ask(talk, question)
            if isinstance(action, Ranked):
                return action
            question = self._next(question, action)

    def _next(self, question: Question, call: CallTool) -> Question:
        """Show what was asked for."""
        view = self.viewer.view(call)
        self.trail.called(question.turn, call)
        text = render(
            "after_view",
            path=view.path,
            part=view.part,
            parts=view.parts,
            content=view.content,
            left=self.viewer.left,
            n=self.settings.top_n,
            shapes=shapes(rated=question.rated, tools=True),
        )
        return Question(turn=question.turn, text=text, tools=VIEWS, rated=question.rated)

    def _evidence(self) -> str:
        """What was viewed, the latest first, as far as half a prompt goes."""
        texts = [f"--- {view.path}, part {view.part} of {view.parts}\n{view.content}" for view in self.viewer.shown]
        latest = texts[::-1]
        taken = fitting(map(estimated_tokens, latest), self.settings.prompt_tokens // 2, pass_over=True)
        if len(taken) < len(latest):
            self.trail.trimmed(Turn.REVIEW, "evidence", f"{len(latest) - len(taken)} of {len(latest)} views")
        return "\n".join(latest[at] for at in taken) or "(nothing)"

    def _open(self, name: str) -> Conversation:
        return opened(self.model, self.limits, self.trail, render(name, n=self.settings.top_n))

    def _common(self) -> dict[str, object]:
        return {"n": self.settings.top_n, "shapes": shapes(rated=False, tools=True)}


def _listed(paths: Iterable[str]) -> str:
    return "\n".join(f"{rank}. {path}" for rank, path in enumerate(paths, start=1)) or "(nothing)"
