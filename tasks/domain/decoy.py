"""Decoys: code states in which the issue is not fixed, although the code differs from the base commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import FixId, InstanceId, InstanceKey
from tasks.domain.table import table

CHOSEN = 3
"""Number of decoys that each success runs on. `sql/views/chosen_decoy.sql` has the same number."""


class DecoyKind(StrEnum):
    """How a decoy is made.

    `broken-fix`    the golden patch with one of its added lines mutated
    `no-behaviour`  everything of the golden patch except behaviour: documents, data, docstrings, comments, new names
    `mutant`        the base commit with a mutation of a changed function or of another one in the same file
    `partial`       the golden patch without one of its changes
    `wrong-repair`  a repair of the store
    `other-fix`     the golden patch of another instance of the repository
    """

    BROKEN_FIX = "broken-fix"
    NO_BEHAVIOUR = "no-behaviour"
    MUTANT = "mutant"
    PARTIAL = "partial"
    WRONG_REPAIR = "wrong-repair"
    OTHER_FIX = "other-fix"


@table("fix_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class Decoy:
    """One proposed decoy of an instance, generated once per store.

    The golden tests decide whether it is valid (`decoy_status`).
    """

    fix_id: FixId
    """The `proposed_fix` with the same patch: golden tests and candidates run on it as on any other fix."""
    instance_key: InstanceKey
    instance_id: InstanceId
    number: int
    """0-based order in which golden tests try the decoys of an instance."""
    kind: DecoyKind
    near: bool
    """Whether it changes functions that the golden patch changes."""
    patch: str
    """Unified diff against the base commit."""
    detail: str
    """Description of the change: why it should not fix the issue."""
    seed: str
    """128 random bits as hexadecimal digits, drawn once per instance and store; the seed of mutants and names."""
    created_at: datetime
