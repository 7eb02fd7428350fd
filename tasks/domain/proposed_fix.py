"""Fixes that somebody proposed, and the runs of tests on them: which tests tell a wrong fix from the golden patch?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import FixId, InstanceId, InstanceKey, MethodName, RunKey, SuiteId, content_key
from tasks.domain.table import table


@table("fix_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFix:
    """A change of the code under test, proposed for one instance. Equal changes are one fix, whoever proposed them."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    method: MethodName
    """Who proposed it, the last time that it was handed in."""
    source: str
    """`file:line` of the repairs file."""
    patch: str
    """Unified diff of what is run, in normal form and without tests; empty where nothing can be run."""
    stripped: tuple[str, ...]
    """`path: rule` of every file that was taken out: a fix chooses neither its judges nor how they work."""
    problem: str
    """Why it cannot be run; empty if it can."""
    created_at: datetime

    @staticmethod
    def id_of(instance_key: str, patch: str) -> FixId:
        """From what is run, or of a fix that cannot be run from what was handed in."""
        return FixId(content_key("fix", instance_key, patch))


@table("fix_id", "suite_id", "run_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class FixRun:
    """Which run tried a test suite on a proposed fix, put on the base commit in the golden patch's place."""

    fix_id: FixId
    instance_key: InstanceKey
    instance_id: InstanceId
    suite_id: SuiteId
    run_key: RunKey
