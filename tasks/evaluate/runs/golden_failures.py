"""Reports golden tests that were not measured: an internal failure per instance, never a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks.domain.names import InstanceId
from tasks.domain.undone import PartialFailure

UNMEASURED = "golden-unmeasured"
"""Slug of the failure."""
HINT = "swt query golden_unmeasured says why; correct or withdraw the instance, no candidate of it can be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCheck:
    """Instances of a snapshot whose golden tests are to be checked."""

    snapshot: str
    subjects: tuple[InstanceId, ...]

    @property
    def subject(self) -> str:
        return self.snapshot

    @property
    def scope(self) -> str:
        return self.snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedGolden:
    """The failures that a check found."""

    left: tuple[PartialFailure, ...]


def check_golden(unmeasured: Mapping[InstanceId, str], unit: GoldenCheck) -> CheckedGolden:
    """Returns a failure, with its reason, for every instance of the task that is in `unmeasured`."""
    return CheckedGolden(
        left=tuple(
            PartialFailure(subject=name, error=UNMEASURED, detail=unmeasured[name], may_pass=False, hint=HINT)
            for name in unit.subjects
            if name in unmeasured
        )
    )
