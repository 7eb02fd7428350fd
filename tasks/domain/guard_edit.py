"""The edits used by robustness checks, and the secret order of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import InstanceId, InstanceKey, RepoPath, SuiteId
from tasks.domain.outcome import CodeState, RunVariant
from tasks.domain.table import table


@table("instance_key", "variant")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardEdit:
    """The edit of a placebo, paraphrase or right variant for one instance, independent of the tests that run on it."""

    instance_key: InstanceKey
    instance_id: InstanceId
    variant: RunVariant
    """`placebo` (applied to `before`), `paraphrase` or `variant` (both applied to `after`)."""
    patch: str
    """Unified diff; empty if no file of the golden patch can be edited, so that the check does not apply."""
    edited: tuple[RepoPath, ...]
    """Files of the golden patch."""
    skipped: tuple[str, ...]
    """`path: reason` for every file of the golden patch that is not edited."""
    secret: str = ""
    """128 random bits as hexadecimal digits, drawn once per instance and store; the seed of generated names."""
    made_by: str = ""
    """Version of the code that generated it; another version generates it again from the same secret."""

    @property
    def code_state(self) -> CodeState:
        """The code state to which the edit is applied."""
        return CodeState.BEFORE if self.variant is RunVariant.PLACEBO else CodeState.AFTER


@table("suite_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardPlan:
    """The secret order of a suite's robustness checks, drawn once per store and never visible in a sandbox."""

    suite_id: SuiteId
    instance_key: InstanceKey
    secret: str
    """128 random bits as hexadecimal digits, the seed of the shuffle."""
    drawn_at: datetime
    """Checks that start later run in the order of this plan."""
