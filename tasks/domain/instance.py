"""Task instances, their snapshots, and the lines that their golden patches change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from types import MappingProxyType

from tasks.domain.collect import StatementMode
from tasks.domain.names import (
    InstanceId,
    InstanceKey,
    LineNo,
    RepoName,
    RepoPath,
    Sha,
    SnapshotName,
    content_key,
    jsonable,
)
from tasks.domain.outcome import CodeState
from tasks.domain.table import table


@table("snapshot", "repo", folder="snapshot")
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """One issue with the code before the fix, the golden patch and the golden tests.

    SWE-bench's column names come first.
    """

    repo: RepoName
    instance_id: InstanceId
    base_commit: Sha
    patch: str
    """Golden patch: the source half of the fix, a unified diff against `base_commit`."""
    test_patch: str
    """Golden tests: the test half of the fix, a unified diff against `base_commit`."""
    problem_statement: str
    """The issue's text before the fix."""
    hints_text: str
    """The issue's comments before the fix."""
    created_at: datetime | None
    """UTC; null if the source has none."""
    version: str | None
    """The repository's version at `base_commit`, in the recipes' notation; null if it could not be determined."""
    FAIL_TO_PASS: tuple[str, ...] | None
    """The source's own list, in its own notation; null if the source has none (not the same as empty)."""
    PASS_TO_PASS: tuple[str, ...] | None
    """As FAIL_TO_PASS."""
    environment_setup_commit: Sha | None
    snapshot: SnapshotName
    """Name of the snapshot that contains this row."""
    instance_key: InstanceKey
    """Equal for two rows exactly if repository, base commit and patches are equal; such rows share runs."""
    source: str
    """Base name of the imported file, or the collector's name."""
    problem_statement_mode: str = ""
    """How well the statement matches its text before the fix: `unedited`, `restored`, `as_fetched`, or `reconstructed`,
    which is for trials only; empty if the source does not state it."""

    @property
    def trial(self) -> bool:
        """Whether its statement is not the text of an issue."""
        return self.problem_statement_mode == StatementMode.RECONSTRUCTED

    @property
    def content(self) -> str:
        """Returns the content key of all columns except `snapshot` and `source`."""
        facts = {name: value for name, value in asdict(self).items() if name not in ("snapshot", "source")}
        facts["created_at"] = self.created_at.isoformat() if self.created_at else None
        return content_key("task_instance", jsonable(facts))

    @staticmethod
    def key_of(repo: str, base_commit: str, patch: str, test_patch: str) -> InstanceKey:
        return InstanceKey(content_key("instance", repo, base_commit, patch, test_patch))


@table("snapshot", folder="snapshot", files=("manifest",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A named, immutable set of instances."""

    snapshot: SnapshotName
    instances: int
    """Number of rows of `task_instance` with this name."""
    content: str
    """Content key of whole rows and the locks of their environments: other statements, lists of cases or locks give
    another key."""
    source: str
    created_at: datetime
    previous: str = ""
    """Name of the preceding snapshot; empty if there is none."""
    manifest: str = ""
    """SHA-256 of the manifest under `files/` of the store; empty for an imported snapshot."""
    trial: bool = False
    """Some statement is reconstructed from a git history and not the text of an issue: the snapshot is no benchmark."""

    @staticmethod
    def content_of(instances: Iterable[TaskInstance], locks: Mapping[InstanceKey, str] = MappingProxyType({})) -> str:
        """Returns the content key, independent of the order. `locks`: the environment lock of an instance, if it has
        one."""
        rows = ((one.instance_id, one.content, locks.get(one.instance_key, "")) for one in instances)
        return content_key("snapshot", sorted(rows))


@table("instance_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLine:
    """One line that a golden patch removes (numbered as before) or adds (numbered as after)."""

    instance_key: InstanceKey
    path: RepoPath
    side: CodeState
    """`before` for a removed line (Xr), `after` for an added one (Xa)."""
    line: LineNo
