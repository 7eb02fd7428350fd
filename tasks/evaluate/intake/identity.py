"""Whose predictions a file holds: what its method is called, and that nobody takes the place of somebody else.

A place is a snapshot, an instance, a method, a model and a sample number: of two candidates for one place tables count
the later (`counted_candidate`). So two files must not hold different patches for one place, neither in one request nor
over time. A file may come again under its name with other patches: that is a resubmission, and is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.names import InstanceId
from tasks.evaluate.intake.confusable_names import disguise_of
from tasks.evaluate.intake.controls import GOLDEN, NOP
from tasks.evaluate.intake.predictions import Predictions

RESERVED = (GOLDEN, NOP)
HANDED_IN = "self_reported"
"""Provenance of what a predictions file holds."""
HINT = (
    "`--method NAME`, or `--method FILE=NAME` for one of several files, gives a file's method a name of its own; "
    "for the files of `swt fixes --tests` it is `--tests-method`"
)

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
        raise UsageError(f"no method called {asked!r}: {words}", hint="FILE=NAME names the file: " + " ".join(files))
    return fitting[0], name


def refuse_disguised(file: str, candidates: Iterable[Candidate]) -> None:
    """`BadInput` where a predictions file calls its method or model what only a control is called, or what people would
    take for another name."""
    names = {(what, name) for one in candidates for what, name in (("method", one.method), ("model", one.model))}
    for what, name in sorted((what, name) for what, name in names if name):
        if why := "which is a control's name" if name in RESERVED else disguise_of(name, RESERVED):
            raise BadInput(f"{Path(file).name} calls its {what} {name!r}, {why}", hint=HINT)


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


def resubmitted(file: str, candidates: Sequence[Candidate], earlier: Sequence[Candidate]) -> tuple[str, ...]:
    """A line for each method of the file that takes the place of what an earlier file of its name held, or is counted
    as one with what another file holds for other instances.

    `earlier` are the candidates of its methods in the store. `BadInput` where another file holds the place, and where
    it adds to a method whose candidates were made here: its row in a table is theirs.
    """
    _refuse_mixed(file, candidates, earlier)
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
    return (
        *(f"{name}: {n} predictions of {method!r} replace what {name} held before" for method, n in again.items()),
        *_shared(name, candidates, earlier),
    )


def _refuse_mixed(file: str, candidates: Iterable[Candidate], earlier: Iterable[Candidate]) -> None:
    """Where a file adds to what was made here, or says otherwise; to hand in the same again does neither."""
    made_here = [row for row in earlier if row.provenance != HANDED_IN]
    known, rows = {(place_of(row), row.patch) for row in made_here}, {(row.method, row.model) for row in made_here}
    for one in candidates:
        if (one.method, one.model) in rows and (place_of(one), one.patch) not in known and not one.problem:
            words = f"{Path(file).name} calls its method {one.method!r}, whose candidates in the store were made here"
            raise BadInput(words, hint=HINT)


def _shared(name: str, candidates: Iterable[Candidate], earlier: Iterable[Candidate]) -> Iterator[str]:
    """A line for each method that this file and others have candidates of, unless all of this one are known."""
    known = {(place_of(row), row.patch) for row in earlier}
    own = {(row.method, row.model): _file_of(row) for row in candidates if (place_of(row), row.patch) not in known}
    others: dict[str, set[str]] = {}
    for row in earlier:
        if own.get((row.method, row.model), _file_of(row)) != _file_of(row):
            others.setdefault(row.method, set()).add(_file_of(row))
    for method, files in sorted(others.items()):
        yield f"{name}: {method!r} is counted as one method with what {', '.join(sorted(files))} calls so"


def place_of(candidate: Candidate) -> Place:
    """Of two candidates for one place tables count the later."""
    return candidate.instance_id, candidate.method, candidate.model, candidate.sample


def _file_of(candidate: Candidate) -> str:
    """The file, without its line, that a candidate came from; for others the name of its method."""
    file, _, line = candidate.source.rpartition(":")
    return file if line.isdigit() and file else candidate.source
