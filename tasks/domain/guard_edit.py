"""The edits of the fix that guard runs are made with, and the secret order of these runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import InstanceId, InstanceKey, RepoPath, SuiteId
from tasks.domain.outcome import CodeState, RunVariant
from tasks.domain.table import table

EDITS = 3
"""Of each side of a fix, and so guard runs of each side: chance passes three and three once in 20. Four and four would
make it once in 70, for two more runs of each success."""


@table("instance_key", "variant")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardEdit:
    """What a placebo or a paraphrase changes for one instance, whoever's tests are run on it. There are a few of each,
    and no two are alike."""

    instance_key: InstanceKey
    instance_id: InstanceId
    variant: RunVariant
    """`placebo` (applied to `before`) or `paraphrase` (applied to `after`)."""
    patch: str
    """Unified diff; empty where no file of the golden patch could be edited, and then the guard does not apply."""
    edited: tuple[RepoPath, ...]
    """Files of the golden patch and others of their packages."""
    skipped: tuple[str, ...]
    """`path: reason` for every file of the golden patch that is left as it is."""
    secret: str = ""
    """128 random bits as hexadecimal digits, drawn once for an instance in a store; what is drawn follows from it."""
    made_by: str = ""
    """Version of the code that made it; another version makes it again, from the same secret."""
    repeat: int = 0
    """From 0: which of its variant."""

    @property
    def code_state(self) -> CodeState:
        """What it is applied to."""
        return CodeState.BEFORE if self.variant is RunVariant.PLACEBO else CodeState.AFTER


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardPlan:
    """What decides in which order the guard runs of a suite are made: drawn once in each store, seen by no sandbox."""

    suite_id: SuiteId
    instance_key: InstanceKey
    secret: str
    """128 random bits as hexadecimal digits, the seed of the shuffle."""
    drawn_at: datetime
    """Guard runs that started later are in the order of this plan."""
