"""The two controls that run in every sweep: `golden` must always succeed and `nop` never."""

from __future__ import annotations

from datetime import datetime

from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import MethodName

GOLDEN = MethodName("golden")
NOP = MethodName("nop")


def golden_candidate(instance: TaskInstance, *, created_at: datetime) -> Candidate:
    """The instance's own test patch, handed in like anybody's."""
    return control(instance, GOLDEN, instance.test_patch, created_at)


def nop_candidate(instance: TaskInstance, *, created_at: datetime) -> Candidate:
    """An empty patch."""
    return control(instance, NOP, "", created_at)


def control(instance: TaskInstance, method: MethodName, patch: str, created_at: datetime) -> Candidate:
    """What this project hands in itself."""
    return Candidate(
        candidate_id=Candidate.id_of(instance.instance_key, method, None, 0, patch),
        snapshot=instance.snapshot,
        instance_id=instance.instance_id,
        instance_key=instance.instance_key,
        method=method,
        model=None,
        sample=0,
        patch=patch,
        provenance="oracle",
        source=method,
        problem="",
        created_at=created_at,
    )
