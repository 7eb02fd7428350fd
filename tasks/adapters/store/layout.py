"""Where the rows of each table lie, and which rows of a table belong together.

    <root>/<table>/<column>=<value>/part-<key>.parquet     one write
    <root>/<table>/<column>=<value>/pack-<id>.parquet      many writes, merged by compaction
    <root>/<table>/schema=current/part-empty.parquet       no rows: the table's columns and their descriptions
    <root>/files/<xx>/<sha256>.gz                          logs and trajectories
    <root>/replies/<xx>/<call_key>.json.gz                 what models were asked and answered (tasks/adapters/llm)
    <root>/.lock                                           taken by writers (shared) and by deletion (exclusive)

The folder level groups files for people and for compaction; it adds no column to any view.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tasks.domain.candidate import Candidate, EditedDefinition, Submission, Suite
from tasks.domain.collect import Issue, IssueLink, PullBase, PullRequest, Rejection
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.errors import StoreError
from tasks.domain.generation import Generation
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.guards import Leak, LeakAudit, LintFinding, Redaction, TrajectoryAudit
from tasks.domain.instance import ChangedLine, Snapshot, TaskInstance
from tasks.domain.llm import AgentRun, LlmCall
from tasks.domain.localization import Localization, LocalizationRun, LocalizationStep
from tasks.domain.model_fact import ModelFact
from tasks.domain.names import content_key
from tasks.domain.proposed_fix import FixRun, ProposedFix
from tasks.domain.published import InstanceFact, SnapshotChange
from tasks.domain.run import CaseOutcome, LineHit, Run, WatchedFile
from tasks.domain.scraping import RawPage, ScrapeFailure, SyncState
from tasks.domain.tables import table_name
from tasks.domain.validation import CaseStability, Validation

PART = "_part"
"""Hidden column of every stored row. For the tables of a run: which write the row belongs to (`run._part` names the
one that counts). For other tables: when the row was written, so that the latest wins."""

FACTS: tuple[type[Any], ...] = (CaseOutcome, LineHit, WatchedFile)
"""Tables whose rows count only if the `run` row of the same `run_key` names their part."""

FILE_COLUMNS: dict[type[Any], tuple[str, ...]] = {
    Run: ("log",),
    AgentRun: ("trajectory",),
    Generation: ("trajectory",),
    RawPage: ("page",),
    Snapshot: ("manifest",),
}
"""Columns that name a file under `files/` by its SHA-256. A file that none of them names is garbage."""

SCHEMA_FOLDER = "schema=current"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


@dataclass(frozen=True, slots=True)
class Layout:
    """How one table is laid out."""

    owner: tuple[str, ...]
    """Columns that say what a row is about. Of two writes about one owner, the rows of the later one count."""
    folder: str = "group"
    """Column that the folders are named after; `group` where no column is fit for it."""


LAYOUTS: dict[type[Any], Layout] = {
    TaskInstance: Layout(("snapshot", "instance_id"), "snapshot"),
    Snapshot: Layout(("snapshot",), "snapshot"),
    ChangedLine: Layout(("instance_key",)),
    Environment: Layout(("env_id",), "repo"),
    EnvironmentAttempt: Layout(("instance_key", "rung", "tried_at")),
    Candidate: Layout(("snapshot", "candidate_id"), "snapshot"),
    Generation: Layout(("generation_id",), "method"),
    Submission: Layout(("candidate_id", "policy")),
    Suite: Layout(("suite_id",)),
    EditedDefinition: Layout(("suite_id",)),
    GuardEdit: Layout(("instance_key", "variant")),
    ProposedFix: Layout(("fix_id",)),
    FixRun: Layout(("fix_id", "suite_id", "run_key")),
    Run: Layout(("run_key",), "repo"),
    CaseOutcome: Layout(("run_key",), "repo"),
    LineHit: Layout(("run_key",), "repo"),
    WatchedFile: Layout(("run_key",), "repo"),
    RawPage: Layout(("repo", "kind", "number", "cursor", "page"), "repo"),
    SyncState: Layout(("repo", "kind"), "repo"),
    ScrapeFailure: Layout(("repo", "kind", "number", "failed_at"), "repo"),
    Redaction: Layout(("snapshot", "instance_id"), "snapshot"),
    LeakAudit: Layout(("audit_id",)),
    Leak: Layout(("audit_id",)),
    LintFinding: Layout(("suite_id",)),
    TrajectoryAudit: Layout(("candidate_id",)),
    LlmCall: Layout(("call_id",), "model"),
    AgentRun: Layout(("run_token",), "method"),
    ModelFact: Layout(("model",)),
    PullRequest: Layout(("repo", "number"), "repo"),
    Issue: Layout(("repo", "number"), "repo"),
    IssueLink: Layout(("repo",), "repo"),
    PullBase: Layout(("repo",), "repo"),
    Rejection: Layout(("repo",), "repo"),
    LocalizationRun: Layout(("localization_id",), "method"),
    Localization: Layout(("localization_id",), "method"),
    LocalizationStep: Layout(("localization_id",), "method"),
    Validation: Layout(("snapshot", "instance_key", "validated_at"), "snapshot"),
    CaseStability: Layout(("instance_key", "env_id")),
    InstanceFact: Layout(("instance_key",)),
    SnapshotChange: Layout(("snapshot",), "snapshot"),
}


def layout_of(row_type: type[Any]) -> Layout:
    """The layout of a table; `StoreError` for a class that is none."""
    try:
        return LAYOUTS[row_type]
    except KeyError:
        hint = "add it to tasks/domain/tables.py and to LAYOUTS in tasks/adapters/store/layout.py"
        raise StoreError(f"{row_type.__name__} has no layout in the store", hint=hint) from None


def folder(row_type: type[Any], value: str) -> str:
    """`Run`, `pallets/flask` → `run/repo=pallets__flask`."""
    return f"{table_name(row_type)}/{layout_of(row_type).folder}={quote(value.replace('/', '__'), safe=' ')}"


def part_name(key: str) -> str:
    """File name of the write with this key: the key itself where it is plain, else its hash."""
    return f"part-{key if _PLAIN_KEY.fullmatch(key) else content_key('part', key)}.parquet"


def run_file(run_key: str, *, settled: bool) -> str:
    """File name of a `run` row. The ledger is read from these names; `run_of_file` is the inverse."""
    return f"part-{run_key}.parquet" if settled else f"part-{run_key}.infrastructure.parquet"


def run_of_file(name: str) -> str | None:
    """The run key in the name of a settled run's file; null for any other name."""
    match = re.fullmatch(r"part-([^.]+)\.parquet", name)
    return match[1] if match and match[1] != "empty" else None


def file_path(sha: str) -> str:
    """Path below the root of the file with this SHA-256."""
    return f"files/{sha[:2]}/{sha}.gz"
