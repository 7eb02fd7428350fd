"""Builds the control candidates `golden` and `nop`, and repairs that lack a part of the golden patch.

Both controls run in every sweep: `golden` must always succeed and `nop` never.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tasks.adapters.patch.apply import ReadBase, apply_stored
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.render import render
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import MethodName
from tasks.integrity.decoys import left_out

GOLDEN = MethodName("golden")
NOP = MethodName("nop")
PARTIAL = MethodName("partial")


def golden_candidate(instance: TaskInstance, *, created_at: datetime) -> Candidate:
    """Returns the instance's own test patch as a candidate."""
    return control(instance, GOLDEN, instance.test_patch, created_at)


def nop_candidate(instance: TaskInstance, *, created_at: datetime) -> Candidate:
    """Returns a candidate with an empty patch."""
    return control(instance, NOP, "", created_at)


def control(instance: TaskInstance, method: MethodName, patch: str, created_at: datetime) -> Candidate:
    """Builds a candidate of this project, with provenance `oracle`."""
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


def partial_fixes(instance: TaskInstance, read_base: ReadBase, *, created_at: datetime) -> tuple[Candidate, ...]:
    """Returns one repair per partial fix; none if the golden patch is a single change or does not apply."""
    applied = apply_stored(instance.patch, read_base)
    if isinstance(applied, Refused):
        return ()
    return tuple(
        replace(control(instance, PARTIAL, render(changes), created_at), source=f"{PARTIAL}:{number}")
        for number, changes in enumerate(left_out(applied.changes), 1)
    )
