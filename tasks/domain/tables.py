"""The registry: which dataclasses are tables. The table's name is the class name in snake case."""

from __future__ import annotations

import re
from typing import Any

from tasks.domain.candidate import Candidate, EditedDefinition, Submission, Suite
from tasks.domain.collect import Issue, IssueLink, PullBase, PullRequest, Rejection
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.generation import Generation
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.guards import Leak, LeakAudit, LintFinding, Redaction, TrajectoryAudit
from tasks.domain.instance import ChangedLine, Snapshot, TaskInstance
from tasks.domain.llm import AgentRun, LlmCall
from tasks.domain.localization import Localization, LocalizationRun, LocalizationStep
from tasks.domain.model_fact import ModelFact
from tasks.domain.proposed_fix import FixRun, ProposedFix
from tasks.domain.published import InstanceFact, SnapshotChange
from tasks.domain.run import CaseOutcome, LineHit, Run, WatchedFile
from tasks.domain.scraping import RawPage, ScrapeFailure, SyncState
from tasks.domain.validation import CaseStability, Validation

TABLES: tuple[type[Any], ...] = (
    TaskInstance,
    Snapshot,
    ChangedLine,
    Environment,
    EnvironmentAttempt,
    Candidate,
    Generation,
    Submission,
    Suite,
    EditedDefinition,
    GuardEdit,
    ProposedFix,
    FixRun,
    Run,
    CaseOutcome,
    LineHit,
    WatchedFile,
    Redaction,
    LeakAudit,
    Leak,
    LintFinding,
    TrajectoryAudit,
    LlmCall,
    AgentRun,
    ModelFact,
    RawPage,
    SyncState,
    ScrapeFailure,
    PullRequest,
    Issue,
    IssueLink,
    PullBase,
    Rejection,
    LocalizationRun,
    Localization,
    LocalizationStep,
    Validation,
    CaseStability,
    InstanceFact,
    SnapshotChange,
)


def table_name(row_type: type[Any]) -> str:
    """`CaseOutcome` → `case_outcome`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", row_type.__name__).lower()
