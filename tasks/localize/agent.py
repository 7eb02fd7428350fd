"""The localization agent: extract, retrieve, view, review (methods.md; the supplement's sections S.2.2 to S.2.6).

Each turn asks one question until the reply is something to act on, re-prompting for what is not. Errors of ours pass
through; everything else ends in a `LocalizationResult`, whose steps tell the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tasks.adapters.llm.base import Model, system
from tasks.adapters.llm.errors import ModelError
from tasks.adapters.retrieval.budget import fitting, token_count
from tasks.adapters.retrieval.search import ScoredFile
from tasks.domain.localization import IssueReport, LocalizationStatus, Turn
from tasks.domain.names import RepoPath
from tasks.localize.finding import LocalizationResult, RankedFile, ending_of
from tasks.localize.prompts import prompt
from tasks.localize.replies import EXTRACT, SEARCHES, CallTool, Extracted, Ranked, parse_extracted
from tasks.localize.repository import Codebase
from tasks.localize.settings import AgentSettings
from tasks.localize.trail import Trail
from tasks.localize.turns import VIEWS, Asker, TurnQuestion
from tasks.localize.viewing import Viewer
from tasks.methods.conversation import OutOfBudget, Thread, Unusable
from tasks.methods.prompts import shortened

NOTHING = Ranked(paths=())


def investigate(
    report: IssueReport,
    repository: Codebase,
    model: Model,
    settings: AgentSettings,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> LocalizationResult:
    """Locate the bug of a report."""
    trail = Trail(model, settings.budget, clock=clock)
    one = _Investigation(report, repository, settings, trail)
    ranked = NOTHING
    try:
        ranked = one.find()
        return one.finding(one.review(ranked), reviewed=True)
    except (OutOfBudget, Unusable, ModelError) as error:
        end = ending_of(error)
        trail.ended(end)
        if ranked is NOTHING:
            return one.finding(ranked, reviewed=False, status=end.status, reason=end.reason)
        return one.finding(ranked, reviewed=False)


@dataclass(slots=True)
class _Investigation:
    report: IssueReport
    repository: Codebase
    settings: AgentSettings
    trail: Trail
    hits: tuple[ScoredFile, ...] = ()
    viewer: Viewer = field(init=False)
    asker: Asker = field(init=False)
    statement: str = field(init=False)

    def __post_init__(self) -> None:
        self.viewer = Viewer(self.repository, self.settings, self.settings.views)
        reprompts, top_n = self.settings.reprompts, self.settings.top_n
        self.asker = Asker(viewer=self.viewer, trail=self.trail, top_n=top_n, reprompts=reprompts)
        self.statement = shortened(self.report.statement, self.settings.statement_tokens)
        if self.statement != self.report.statement:
            self.trail.trimmed("statement", f"{len(self.report.statement)} characters")

    def find(self) -> Ranked:
        """Turns 1 to 3: the first valid list."""
        thread = self._thread("system.j2")
        text = self._prompt("extract_turn.j2", repo=self.report.repo, statement=self.statement)
        action = self.asker.ask(thread, TurnQuestion(text=text, tools=frozenset({EXTRACT})))
        if isinstance(action, Ranked):
            return action
        self.trail.called(action)
        extracted = self._extract()
        self.trail.turn = Turn.RETRIEVE
        text = self._prompt("retrieve_turn.j2", extracted=extracted.text)
        action = self.asker.ask(thread, TurnQuestion(text=text, tools=frozenset(SEARCHES)))
        if isinstance(action, Ranked):
            return action
        self.trail.called(action)
        self.trail.turn = Turn.VIEW
        return self._view(thread, action, extracted)

    def review(self, ranked: Ranked) -> Ranked:
        """The list again with confidences, best first: a thread of its own, which sees the evidence only."""
        self.trail.turn = Turn.REVIEW
        thread = self._thread("review_system.j2")
        self.viewer.allowed = len(self.viewer.shown) + self.settings.review_views
        text = self._prompt(
            "review.j2",
            rated=True,
            statement=self.statement,
            results=_listed(hit.path for hit in self.hits),
            viewed=self._evidence(),
            answer=", ".join(ranked.paths),
        )
        rated = self._looking(thread, TurnQuestion(text=text, tools=VIEWS, rated=True))
        return rated.only(sorted(range(len(rated.paths)), key=lambda at: -rated.confidences[at]))

    def finding(
        self,
        ranked: Ranked,
        *,
        reviewed: bool,
        status: LocalizationStatus = LocalizationStatus.RANKED,
        reason: str = "",
    ) -> LocalizationResult:
        scores = {hit.path: hit.score for hit in self.hits}
        paths = [RepoPath(path) for path in ranked.paths]
        confidences: Sequence[int | None] = ranked.confidences or [None] * len(paths)
        ranking = tuple(
            RankedFile(path=path, score=scores.get(path), confidence=confidence)
            for path, confidence in zip(paths, confidences, strict=True)
        )
        return LocalizationResult(
            status=status,
            reason=reason,
            ranking=ranking[: self.settings.top_n],
            reviewed=reviewed,
            steps=tuple(self.trail.steps),
            calls=self.trail.calls,
            views=self.trail.views,
        )

    def _extract(self) -> Extracted:
        """What the tool `extract_relevant` returns: a question of its own to the model."""
        found = self._thread("system.j2").ask_until(
            prompt("extract.j2", statement=self.statement),
            parse_extracted,
            lambda problem: prompt("extract_again.j2", error=problem.detail),
            tries=self.settings.reprompts + 1,
        )
        return found if found.text else Extracted(explanation=self.statement, code=(), errors=(), paths=())

    def _view(self, thread: Thread, search: CallTool, extracted: Extracted) -> Ranked:
        title = self.report.statement.strip().partition("\n")[0]
        self.hits = self.repository.search(f"{title}\n{extracted.text}", search.k or 0)
        text = self._prompt(
            "view_turn.j2",
            k=search.k,
            results=_listed(hit.path for hit in self.hits),
            views=self.settings.views,
            views_per_file=self.settings.views_per_file,
        )
        return self._looking(thread, TurnQuestion(text=text, tools=VIEWS))

    def _looking(self, thread: Thread, question: TurnQuestion) -> Ranked:
        """Show files until there is a list."""
        self.viewer.thread = thread
        while True:
            action = self.asker.ask(thread, question)
            if isinstance(action, Ranked):
                return action
            view = self.viewer.view(action)
            self.trail.called(action)
            text = self._prompt("after_view.j2", rated=question.rated, view=view, left=self.viewer.left)
            question = replace(question, text=text)

    def _evidence(self) -> str:
        """What was viewed, the latest first, as far as half a prompt goes."""
        shown = reversed(self.viewer.shown)
        texts = (f"--- {view.path}, part {view.part} of {view.parts}\n{view.content}" for view in shown)
        latest = list(dict.fromkeys(texts))
        taken = fitting(map(token_count, latest), self.settings.prompt_tokens // 2, pass_over=True)
        if len(taken) < len(latest):
            self.trail.trimmed("evidence", f"{len(latest) - len(taken)} of {len(latest)} views")
        return "\n".join(latest[at] for at in taken) or "(nothing)"

    def _thread(self, template: str) -> Thread:
        opening = system(prompt(template, n=self.settings.top_n))
        settings = self.settings
        return Thread(
            self.trail,
            [opening],
            temperature=settings.temperature,
            sample=settings.sample,
            tokens=settings.prompt_tokens,
        )

    def _prompt(self, template: str, *, rated: bool = False, **values: object) -> str:
        return prompt(template, n=self.settings.top_n, rated=rated, tools=True, **values)


def _listed(paths: Iterable[str]) -> str:
    return "\n".join(f"{rank}. {path}" for rank, path in enumerate(paths, start=1)) or "(nothing)"
