"""The edits that robustness checks run with, and the secret order of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import InstanceId, InstanceKey, RepoPath, SuiteId
from tasks.domain.outcome import CodeState, RunVariant
from tasks.domain.table import table


@table("instance_key", "variant")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardEdit:
    """What a placebo, a paraphrase or a right variant changes for one instance, whichever tests run on it."""

    instance_key: InstanceKey
    instance_id: InstanceId
    variant: RunVariant
    """`placebo` (applied to `before`), `paraphrase` or `variant` (both applied to `after`)."""
    patch: str
    """Unified diff; empty where no file of the golden patch can be edited, and then the check does not apply."""
    edited: tuple[RepoPath, ...]
    """Files of the golden patch."""
    skipped: tuple[str, ...]
    """`path: reason` for every file of the golden patch that is left as it is."""
    secret: str = ""
    """128 random bits as hexadecimal digits, drawn once per instance and store; drawn names follow from it."""
    made_by: str = ""
    """Version of the code that made it; another version makes it again, from the same secret."""

    @property
    def code_state(self) -> CodeState:
        """What it is applied to."""
        return CodeState.BEFORE if self.variant is RunVariant.PLACEBO else CodeState.AFTER


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardPlan:
    """What decides the order in which the checks of a suite run: drawn once per store, seen by no sandbox."""

    suite_id: SuiteId
    instance_key: InstanceKey
    secret: str
    """128 random bits as hexadecimal digits, the seed of the shuffle."""
    drawn_at: datetime
    """Runs of checks that started later are in the order of this plan."""
