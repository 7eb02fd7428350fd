"""What a method is about to be given is looked through; a leak stops it, and an instance that leaks is not published.

The gate holds the golden patch, to know the fix when it sees it; the method gets the checkout and never the patch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.git.leaks import Checkout, find_leaks
from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.adapters.patch.read import to_bytes
from tasks.adapters.patch.render import blob_sha
from tasks.adapters.uv.leaks import Surroundings, find_environment_leaks
from tasks.domain.errors import LeakFound
from tasks.domain.guards import Exposure, Leak, LeakAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The rows of one look."""

    audit: LeakAudit
    leaks: tuple[Leak, ...]

    @property
    def complaint(self) -> str:
        """How many leaks there are and the first of them; empty where a method may start."""
        blocking = [leak for leak in self.leaks if leak.blocking]
        if not blocking:
            return ""
        first = blocking[0]
        return f"{len(blocking)} leaks, first {first.where}/{first.rule} at {first.path}: {first.detail}"

    def refuse(self) -> None:
        """`LeakFound` where a method must not start. To be called after the rows are stored."""
        if self.complaint:
            raise LeakFound(
                f"{self.audit.instance_id}: {self.complaint}",
                hint=f"see `FROM leak WHERE audit_id = '{self.audit.audit_id}'`",
            )


def fixed_blobs(instance: TaskInstance, read_base: ReadBase) -> frozenset[str]:
    """Names of the contents that the golden patch and the golden tests leave behind."""
    found = set()
    for text in (instance.patch, instance.test_patch):
        applied = apply_stored(text, read_base)
        changes = applied.changes if isinstance(applied, Applied) else ()
        found |= {blob_sha(to_bytes(change.after)) for change in changes if change.after}
    return frozenset(found)


def audit(instance: TaskInstance, env_id: EnvId, checkout: Checkout, surroundings: Surroundings) -> Audited:
    """Look through a checkout and its environment. `GitFailed` where the checkout's repository cannot be read."""
    begun, now = time.monotonic(), datetime.now(UTC)
    exposures = find_leaks(checkout) + find_environment_leaks(surroundings)
    audit_id = content_key("leak-audit", instance.instance_key, env_id, now.isoformat())
    has_history = checkout.folder.is_dir()
    row = LeakAudit(
        audit_id=audit_id,
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        env_id=env_id,
        base_commit=instance.base_commit,
        commits=checkout.commits if has_history else 0,
        objects=len(checkout.objects) if has_history else 0,
        leaks=len(exposures),
        blocked=any(exposure.blocking for exposure in exposures),
        seconds=round(time.monotonic() - begun, 3),
        audited_at=now,
    )
    return Audited(audit=row, leaks=tuple(_leak(row, exposure) for exposure in exposures))


def _leak(row: LeakAudit, exposure: Exposure) -> Leak:
    return Leak(
        audit_id=row.audit_id,
        instance_key=row.instance_key,
        instance_id=row.instance_id,
        env_id=row.env_id,
        where=exposure.where,
        rule=exposure.rule,
        path=exposure.path,
        detail=exposure.detail,
        blocking=exposure.blocking,
    )
