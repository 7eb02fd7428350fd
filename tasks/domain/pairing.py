"""Pairs the cases of two runs of the same suite whose ids differ between processes.

An id may contain a uuid, a time, an address, a process id or a temporary folder. `case_pair` is the SQL equivalent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tasks.domain.names import CaseId

Function = tuple[str, str]
"""A function's file and its qualified name."""


class PlacedCase(Protocol):
    """The attributes that distinguish the cases of a run."""

    @property
    def case_id(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def qualname(self) -> str: ...

    @property
    def place(self) -> int | None: ...


def paired(first: Iterable[PlacedCase], second: Iterable[PlacedCase]) -> dict[str, str | None]:
    """Pairs cases of `second` with cases of `first` at the same place of the same function.

    The keys are cases of `second` that are missing in `first`, if their function has cases of `first` that are missing
    in `second`. The value is None if the pair is ambiguous: the function has more cases in one run, or the id at the
    place occurs in both. Cases with the same id are the same case, and are not among the keys.
    """
    known = functions(first)
    found: dict[str, str | None] = {}
    for function, theirs in functions(second).items():
        ours = known.get(function, {})
        free = {place: case for case, place in ours.items() if case not in theirs}
        if free:
            even = len(ours) == len(theirs)
            found |= {case: free.get(place) if even else None for case, place in theirs.items() if case not in ours}
    return found


def functions(cases: Iterable[PlacedCase]) -> Mapping[Function, Mapping[str, int]]:
    """Returns {function: {case id: place}} for the cases with a place."""
    known: dict[Function, dict[str, int]] = defaultdict(dict)
    for case in cases:
        if case.place is not None:
            known[case.path, case.qualname].setdefault(case.case_id, case.place)
    return known


def renamed(runs: Sequence[Sequence[PlacedCase]]) -> list[dict[CaseId, CaseId]]:
    """Returns, for each run, {case id: id of the same case in an earlier run}, for ids that differ."""
    reference: list[PlacedCase] = []
    names: list[dict[CaseId, CaseId]] = []
    for cases in runs:
        names.append({CaseId(case): CaseId(other) for case, other in paired(reference, cases).items() if other})
        known = functions(reference)
        reference += [case for case in cases if (case.path, case.qualname) not in known]
    return names


def place_name(case: PlacedCase) -> str:
    """Returns the listed name of a case whose id differs between processes: `tests/test_a.py::TestX::test_y[#0]`."""
    return f"{case.path}::{case.qualname.replace('.', '::')}[#{case.place}]"
