"""Findings → rows, and the content key that makes a localization run once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from tasks.adapters.retrieval.budget import ENCODING
from tasks.adapters.retrieval.variants import RETRIEVERS
from tasks.adapters.store.files.provenance import provenance
from tasks.domain.localization import (
    IssueReport,
    Localization,
    LocalizationRun,
    LocalizationStep,
    Locator,
    RetrieverKind,
)
from tasks.domain.names import MethodName, ModelName, RepoPath, content_key, jsonable
from tasks.localize.finding import LocalizationResult
from tasks.localize.prompts import PROMPTS
from tasks.localize.settings import AgentSettings, Bm25Settings

BM25, AGENT = MethodName(Locator.BM25), MethodName(Locator.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One localization to make: everything that decides it, and how its rows are labelled."""

    report: IssueReport
    method: MethodName
    variant: RetrieverKind
    with_tests: bool
    model: ModelName
    sample: int
    top_n: int
    settings: str

    @property
    def localization_id(self) -> str:
        report, labels = self.report, (self.method, self.model, self.sample, self.settings)
        return content_key("localization", report.instance_key, report.base_commit, report.statement, *labels)


def bm25_plan(report: IssueReport, settings: Bm25Settings) -> Plan:
    return Plan(
        report=report,
        method=BM25,
        variant=settings.variant,
        with_tests=settings.with_tests,
        model=ModelName(""),
        sample=0,
        top_n=settings.k,
        settings=content_key("settings", jsonable(asdict(settings)), _retriever(settings.variant)),
    )


def agent_plan(report: IssueReport, settings: AgentSettings, model: str) -> Plan:
    return Plan(
        report=report,
        method=AGENT,
        variant=settings.variant,
        with_tests=settings.with_tests,
        model=ModelName(model),
        sample=settings.sample,
        top_n=settings.top_n,
        settings=content_key("settings", jsonable(asdict(settings)), _retriever(settings.variant), PROMPTS.texts()),
    )


def _retriever(variant: RetrieverKind) -> list[object]:
    """What decides a ranking, as plain values."""
    one = RETRIEVERS[variant]
    return [ENCODING, one.analyzer, one.weights.k1, one.weights.b, one.path_share, one.title_times]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """One localization in its three tables."""

    run: LocalizationRun
    ranking: tuple[Localization, ...]
    steps: tuple[LocalizationStep, ...]


def rows_of(
    plan: Plan, finding: LocalizationResult, tokens: Mapping[RepoPath, int], started_at: datetime, finished_at: datetime
) -> Rows:
    """`tokens` has every file that could have been ranked, with what it costs in a prompt."""
    origin = provenance(started_at, finished_at, plan.settings)
    run = LocalizationRun(
        localization_id=plan.localization_id,
        instance_key=plan.report.instance_key,
        repo=plan.report.repo,
        method=plan.method,
        variant=plan.variant,
        with_tests=plan.with_tests,
        model=plan.model,
        sample=plan.sample,
        top_n=plan.top_n,
        settings=plan.settings,
        status=finding.status,
        reason=finding.reason,
        files=len(finding.ranking),
        candidates=len(tokens),
        reviewed=finding.reviewed,
        calls=finding.calls,
        views=finding.views,
        wall_s=(finished_at - started_at).total_seconds(),
        **asdict(origin),
    )
    return Rows(run=run, ranking=_ranking(plan, finding, tokens), steps=_steps(plan, finding))


def _ranking(plan: Plan, finding: LocalizationResult, tokens: Mapping[RepoPath, int]) -> tuple[Localization, ...]:
    return tuple(
        Localization(
            localization_id=plan.localization_id,
            instance_key=plan.report.instance_key,
            method=plan.method,
            variant=plan.variant,
            with_tests=plan.with_tests,
            model=plan.model,
            sample=plan.sample,
            top_n=plan.top_n,
            rank=rank,
            path=place.path,
            score=place.score,
            confidence=place.confidence,
            tokens=tokens[place.path],
        )
        for rank, place in enumerate(finding.ranking, start=1)
    )


def _steps(plan: Plan, finding: LocalizationResult) -> tuple[LocalizationStep, ...]:
    return tuple(
        LocalizationStep(
            localization_id=plan.localization_id,
            instance_key=plan.report.instance_key,
            method=plan.method,
            position=position,
            turn=step.turn,
            kind=step.kind,
            tool=step.tool,
            k=step.k,
            path=step.path,
            reason=step.reason,
            detail=step.detail,
        )
        for position, step in enumerate(finding.steps)
    )
