"""Which case of one run is which case of another of the same suite, where ids differ between processes.

An id may hold a uuid, a time, an address, a process id or a temporary folder. `case_pair` says the same in SQL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tasks.domain.names import CaseId

Function = tuple[str, str]
"""Its file and its qualified name."""


class PlacedCase(Protocol):
    """What tells a case of a run from the others."""

    @property
    def case_id(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def qualname(self) -> str: ...

    @property
    def place(self) -> int | None: ...


def paired(first: Iterable[PlacedCase], second: Iterable[PlacedCase]) -> dict[str, str | None]:
    """Of each case of `second` whose function has cases in `first` that `second` has not: the case of `first` at its
    place.

    Null where that is ambiguous: the function has more cases in one run, or what is at the place has an id of both.
    Cases of one id are the same case, and are not among the keys.
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
    """Function → case id → place, of the cases that have one."""
    known: dict[Function, dict[str, int]] = defaultdict(dict)
    for case in cases:
        if case.place is not None:
            known[case.path, case.qualname].setdefault(case.case_id, case.place)
    return known


def renamed(runs: Sequence[Sequence[PlacedCase]]) -> list[dict[CaseId, CaseId]]:
    """For each run, the cases that an earlier run has under another id, and that id."""
    reference: list[PlacedCase] = []
    names: list[dict[CaseId, CaseId]] = []
    for cases in runs:
        names.append({CaseId(case): CaseId(other) for case, other in paired(reference, cases).items() if other})
        known = functions(reference)
        reference += [case for case in cases if (case.path, case.qualname) not in known]
    return names


def place_name(case: PlacedCase) -> str:
    """What a list calls a case whose id differs between processes: `tests/test_a.py::TestX::test_y[#0]`."""
    return f"{case.path}::{case.qualname.replace('.', '::')}[#{case.place}]"
