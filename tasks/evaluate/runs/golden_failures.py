"""Golden tests that were not measured: a failure of ours for each instance, never a verdict."""

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
    """Instances of a snapshot whose golden tests were to be measured."""

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
    """What a check found."""

    left: tuple[PartialFailure, ...]


def check_golden(unmeasured: Mapping[InstanceId, str], unit: GoldenCheck) -> CheckedGolden:
    """A failure for every instance of the unit that is among the `unmeasured` ones, with its reason."""
    return CheckedGolden(
        left=tuple(
            PartialFailure(subject=name, error=UNMEASURED, detail=unmeasured[name], may_pass=False, hint=HINT)
            for name in unit.subjects
            if name in unmeasured
        )
    )
