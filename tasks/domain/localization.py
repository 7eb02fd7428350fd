"""Localization: rankings of files for an issue, and the steps that led to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, MethodName, ModelName, RepoName, RepoPath, Sha
from tasks.domain.table import table

TOP_N = 10
"""Default number of files that the agent is asked for; the supplement of the paper also uses 1 and 5."""


class RetrieverKind(StrEnum):
    """The two retrievers by name. No table may mix their figures."""

    LUCENE = "lucene"
    """Pyserini's defaults, which the papers used: path and contents as one English text."""
    CODE = "code"
    """Identifiers and their parts; the title counts three times; the path is a separate field."""


class Locator(StrEnum):
    """The methods of bug localization."""

    BM25 = "bm25"
    """The index alone."""
    AGENT = "agent"
    """A model that extracts, retrieves, views and reviews."""


class LocalizationStatus(StrEnum):
    """How a localization ended.

    `ranked`   there is a ranking; it may be empty if no file shares a word with the issue
    `aborted`  the model gave no usable reply within the limits: the empty ranking counts as a miss
    `timeout`  the model did not reply in time: counted separately, and retried by the next request
    """

    RANKED = "ranked"
    ABORTED = "aborted"
    TIMEOUT = "timeout"


class Turn(StrEnum):
    """The part of the conversation that a step belongs to. BM25 alone has only `retrieve`."""

    EXTRACT = "extract"
    RETRIEVE = "retrieve"
    VIEW = "view"
    REVIEW = "review"


class StepKind(StrEnum):
    """The kind of a step.

    `tool`        a tool call with its result
    `answer`      an accepted ranked list
    `reprompt`    an unusable reply, after which the model got the reason
    `abort-view`  a call of a viewing tool that returned nothing
    `abort`       an abandoned turn
    `timeout`     the model, or the whole localization, took too long
    `trimmed`     content that did not fit into the prompt and was left out
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
    """The input of a localization: an issue, and the commit for which it was reported."""

    instance_key: InstanceKey
    repo: RepoName
    base_commit: Sha
    statement: str

    @staticmethod
    def of_instance(instance: TaskInstance) -> IssueReport:
        """Returns the report with the unredacted issue text: for BM25, which cannot follow pointers to the fix."""
        return IssueReport(
            instance_key=instance.instance_key,
            repo=instance.repo,
            base_commit=instance.base_commit,
            statement=instance.problem_statement,
        )


@table("localization_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationRun:
    """One finished localization. Written after its other rows, so this row means that they are complete."""

    localization_id: str
    """Content key of the commit, the statement, the method, its settings, the model and the sample."""
    instance_key: InstanceKey
    repo: RepoName
    method: MethodName
    """`bm25` or `agent`."""
    variant: str
    """Its retriever, `lucene` or `code`: never mixed in one table."""
    with_tests: bool
    """Whether test files can be ranked."""
    model: ModelName
    """Empty for a method without one."""
    sample: int
    top_n: int
    """Number of requested files; for BM25 the depth of the ranking."""
    settings: str
    """Content key of all settings."""
    status: LocalizationStatus
    reason: str
    """Slug of why it is not `ranked`; empty otherwise."""
    files: int
    """Number of its `localization` rows."""
    candidates: int
    """Files of the commit that could be ranked."""
    reviewed: bool
    """Whether the confidence review was completed."""
    calls: int
    """Model calls with a reply."""
    views: int
    """Calls of viewing tools, including those that returned nothing."""
    wall_s: float
    """Seconds from the first request to the last reply."""
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
    """1 for the file most likely to contain the bug."""
    path: RepoPath
    score: float | None
    """BM25's score; null if the file was not among its results."""
    confidence: int | None
    """1 to 10 by the review's rubric; null without a review."""
    tokens: int
    """Tokens of path and contents in a prompt (`cl100k_base`): their share of a context limit."""


@table("localization_id", folder="method")
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationStep:
    """One step of a localization agent: a tool, a re-prompt, an answer, or an error."""

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
    """Number of results requested from BM25."""
    path: str
    """The file to view, as the model wrote it."""
    reason: str
    """Slug of the reason for a re-prompt, an abort, a timeout or trimming; empty otherwise."""
    detail: str
    """Description, at most 300 characters."""
