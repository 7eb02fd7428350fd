"""The edits of the fix that guard runs are made with."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.names import InstanceId, InstanceKey, RepoPath
from tasks.domain.outcome import RunVariant
from tasks.domain.table import table


@table("instance_key", "variant")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardEdit:
    """What a placebo or a paraphrase changes for one instance, whoever's tests are run on it."""

    instance_key: InstanceKey
    instance_id: InstanceId
    variant: RunVariant
    """`placebo` (applied to `before`) or `paraphrase` (applied to `after`)."""
    patch: str
    """Unified diff; empty where no file could be edited, and then the guard does not apply."""
    edited: tuple[RepoPath, ...]
    skipped: tuple[str, ...]
    """`path: reason` for every file of the golden patch that is left as it is."""
