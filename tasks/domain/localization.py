"""Localization: which files an issue is about, as rankings, and the way to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, MethodName, ModelName, RepoName, RepoPath, Sha
from tasks.domain.table import table

TOP_N = 10
"""Files that the agent is asked for where nobody says otherwise; the supplement asks for 1 and 5 as well."""


class RetrieverKind(StrEnum):
    """The two retrievers by name. They stay apart: no table may mix their figures."""

    LUCENE = "lucene"
    """Pyserini's defaults, which the papers used: path and contents as one English text."""
    CODE = "code"
    """Identifiers and their parts; the title counts three times; the path is a field of its own."""


class Locator(StrEnum):
    """What locates bugs."""

    BM25 = "bm25"
    """The index by itself."""
    AGENT = "agent"
    """A model that extracts, retrieves, views and reviews."""


class LocalizationStatus(StrEnum):
    """How a localization ended.

    `ranked`   there is a ranking; it may be empty where no file shares a word with the issue
    `aborted`  the model gave nothing usable within the limits: a ranking of nothing, which counts as a miss
    `timeout`  the model did not answer in time: counted apart, and tried again by the next request
    """

    RANKED = "ranked"
    ABORTED = "aborted"
    TIMEOUT = "timeout"


class Turn(StrEnum):
    """Where in the conversation a step belongs. BM25 by itself has only `retrieve`."""

    EXTRACT = "extract"
    RETRIEVE = "retrieve"
    VIEW = "view"
    REVIEW = "review"


class StepKind(StrEnum):
    """What a step is.

    `tool`        a tool was called and answered
    `answer`      a ranked list was taken
    `reprompt`    a reply could not be used, and the model was told why
    `abort-view`  a call of a viewing tool that showed nothing
    `abort`       a turn was given up
    `timeout`     the model, or the whole localization, took too long
    `trimmed`     something did not fit into the prompt and was left out of it
    """

    TOOL = "tool"
    ANSWER = "answer"
    REPROMPT = "reprompt"
    ABORT_VIEW = "abort-view"
    ABORT = "abort"
    TIMEOUT = "timeout"
    TRIMMED = "trimmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueReport:
    """What a localization may see: an issue, and the commit that it was reported against."""

    instance_key: InstanceKey
    repo: RepoName
    base_commit: Sha
    statement: str

    @staticmethod
    def of_instance(instance: TaskInstance) -> IssueReport:
        """With the issue as it was written: for BM25, which can follow no pointer."""
        return IssueReport(
            instance_key=instance.instance_key,
            repo=instance.repo,
            base_commit=instance.base_commit,
            statement=instance.problem_statement,
        )


@table("localization_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationRun:
    """One finished localization. Written after its other rows, so this row means that they are all there."""

    localization_id: str
    """Content key of the commit, the statement, the method, its settings, the model and the sample."""
    instance_key: InstanceKey
    repo: RepoName
    method: MethodName
    """`bm25` or `agent`."""
    variant: str
    """Retriever behind it, `lucene` or `code`: never mixed in one table."""
    with_tests: bool
    """Whether test files can be ranked."""
    model: ModelName
    """Empty for a method without one."""
    sample: int
    top_n: int
    """How many files were asked for; the depth of the ranking for BM25."""
    settings: str
    """Content key of all settings."""
    status: LocalizationStatus
    reason: str
    """Slug of why it is not `ranked`; empty otherwise."""
    files: int
    """Number of its `localization` rows."""
    candidates: int
    """Files of the commit that could have been ranked."""
    reviewed: bool
    """Whether the confidence review was passed."""
    calls: int
    """Model calls that were answered."""
    views: int
    """Calls of viewing tools, those that showed nothing included."""
    wall_s: float
    """Seconds from the first question to the last answer."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@table("localization_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class Localization:
    """One file of a ranking."""

    localization_id: str
    instance_key: InstanceKey
    method: MethodName
    variant: str
    with_tests: bool
    model: ModelName
    sample: int
    top_n: int
    rank: int
    """1 for the file most likely to hold the bug."""
    path: RepoPath
    score: float | None
    """BM25's score; null where the file was not among its results."""
    confidence: int | None
    """1 to 10 by the review's rubric; null without a review."""
    tokens: int
    """What path and contents cost in a prompt (`cl100k_base`): what a context of so many tokens is filled by."""


@table("localization_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationStep:
    """One step of a localization agent: a tool, a re-prompt, an answer, or what went wrong."""

    localization_id: str
    instance_key: InstanceKey
    method: MethodName
    position: int
    """0-based."""
    turn: Turn
    kind: StepKind
    tool: str
    """`extract_relevant`, `bm25`, `view_file`, `view_readme`; empty for a step without one."""
    k: int | None
    """How many results were asked of BM25."""
    path: str
    """What was asked to be viewed, as the model wrote it."""
    reason: str
    """Slug: why there was a re-prompt, an abort, a timeout, something trimmed; empty otherwise."""
    detail: str
    """In words, at most 300 characters."""
