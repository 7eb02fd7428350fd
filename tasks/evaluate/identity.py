"""Whose predictions a file holds: what its method is called, and that nobody takes the place of somebody else.

A place is a snapshot, an instance, a method, a model and a sample number: of two candidates for one place tables count
the later (`counted_candidate`). So two files must not hold different patches for one place, neither in one request nor
over time. A file may come again under its name with other patches: that is a resubmission, and is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.names import InstanceId
from tasks.evaluate.controls import GOLDEN, NOP
from tasks.evaluate.predictions import Predictions

RESERVED = (GOLDEN, NOP)
HINT = "`--method NAME`, or `--method FILE=NAME` for one of several files, gives a file's method a name of its own"

Place = tuple[InstanceId, str, str | None, int]


def method_names(files: Sequence[str], asked: Iterable[str]) -> dict[str, str]:
    """{predictions file: what its method is called}, from `NAME` (of the only file) or `FILE=NAME`.

    FILE is a path as it was given, or its last part. `UsageError` where a name is for no file or for several.
    """
    found: dict[str, str] = {}
    for one in asked:
        file, name = _split(files, one)
        if found.setdefault(file, name) != name:
            raise UsageError(f"{file} is given two method names: {found[file]!r} and {name!r}")
    return found


def _split(files: Sequence[str], asked: str) -> tuple[str, str]:
    head, equals, tail = asked.rpartition("=")
    named = [file for file in files if equals and head in (file, Path(file).name)]
    fitting, name = (named, tail) if named else (list(files), asked)
    if len(fitting) != 1 or not name:
        words = "there is no predictions file" if not files else f"there are {len(fitting)} files that it may be for"
        raise UsageError(f"`--method {asked}`: {words}", hint="FILE=NAME names the file: " + " ".join(files))
    return fitting[0], name


def refuse_reserved(file: str, candidates: Iterable[Candidate]) -> None:
    """`BadInput` where a predictions file calls its method what only a control is called."""
    if taken := {candidate.method for candidate in candidates} & set(RESERVED):
        raise BadInput(f"{Path(file).name} calls its method {min(taken)!r}, which is a control's name", hint=HINT)


def merged(read: Mapping[str, Predictions]) -> tuple[Candidate, ...]:
    """The candidates of all sources. `BadInput` where two sources have different patches for one place."""
    places: dict[Place, tuple[str, Candidate]] = {}
    clashes: Counter[tuple[str, str, str]] = Counter()
    found: dict[str, Candidate] = {}
    for source, predictions in read.items():
        for candidate in predictions.candidates:
            found.setdefault(candidate.candidate_id, candidate)
            holder, first = places.setdefault(place_of(candidate), (source, candidate))
            if holder != source and not candidate.problem and first.patch != candidate.patch:
                clashes[holder, source, candidate.method] += 1
    for (holder, source, method), count in clashes.items():
        names = f"{Path(holder).name} and {Path(source).name}"
        raise BadInput(f"{names} hold different patches of {method!r} for {count} instances", hint=HINT)
    return tuple(found.values())


def resubmitted(file: str, candidates: Iterable[Candidate], earlier: Iterable[Candidate]) -> tuple[str, ...]:
    """A line for each method of the file that takes the place of what an earlier file of its name held.

    `earlier` are the candidates of its methods in the store. `BadInput` where another file holds the place.
    """
    latest = {place_of(row): row for row in sorted(earlier, key=lambda row: (row.created_at, row.candidate_id))}
    again: Counter[str] = Counter()
    clashes: Counter[tuple[str, str]] = Counter()
    for candidate in candidates:
        known = latest.get(place_of(candidate))
        if known is None or known.patch == candidate.patch or candidate.problem:
            continue
        if _file_of(known) == _file_of(candidate):
            again[candidate.method] += 1
        else:
            clashes[candidate.method, _file_of(known)] += 1
    name = Path(file).name
    for (method, holder), count in clashes.items():
        raise BadInput(f"{name}: {holder} has {count} other patches of {method!r} for the same instances", hint=HINT)
    return tuple(
        f"{name}: {n} predictions of {method!r} replace what {name} held before" for method, n in again.items()
    )


def place_of(candidate: Candidate) -> Place:
    """Of two candidates for one place tables count the later."""
    return candidate.instance_id, candidate.method, candidate.model, candidate.sample


def _file_of(candidate: Candidate) -> str:
    """The file, without its line, that a candidate came from; for others the name of its method."""
    file, _, line = candidate.source.rpartition(":")
    return file if line.isdigit() and file else candidate.source
