"""Determines the method name of a file and prevents a file from replacing the candidates of another one.

A place is a snapshot, an instance, a method, a model and a sample number. Of two candidates for one place, tables count
the later one (`counted_candidate`). So two files must not contain different patches for one place, neither in one
request nor over time. A file may be submitted again under its name with other patches: this is a resubmission, and it
is reported.
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
"""Provenance of candidates from a predictions file."""
HINT = (
    "`--method NAME`, or `--method FILE=NAME` for one of several files, gives a file's method a name of its own; "
    "for the files of `swt fixes --tests` it is `--tests-method`"
)

Place = tuple[InstanceId, str, str | None, int]


def method_names(files: Sequence[str], asked: Iterable[str]) -> dict[str, str]:
    """Returns {predictions file: method name}, from `NAME` (for the only file) or `FILE=NAME`.

    FILE is a path as given by the user, or its last part. Raises `UsageError` if a name matches no file or several.
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
    """Raises `BadInput` if a method or model in a predictions file has the name of a control or a confusable name."""
    names = {(what, name) for one in candidates for what, name in (("method", one.method), ("model", one.model))}
    for what, name in sorted((what, name) for what, name in names if name):
        if why := "which is a control's name" if name in RESERVED else disguise_of(name, RESERVED):
            raise BadInput(f"{Path(file).name} calls its {what} {name!r}, {why}", hint=HINT)


def merged(read: Mapping[str, Predictions]) -> tuple[Candidate, ...]:
    """Returns the candidates of all sources. Raises `BadInput` if two sources have different patches for one place."""
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
    """Returns one line per method that replaces earlier candidates of this file or shares its name with another file.

    `earlier` are the stored candidates of its methods. Raises `BadInput` if another file has the place. Also raises it
    if the file adds to a method whose candidates were generated here: both would share one table row.
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
    """Raises `BadInput` if a file adds to, or contradicts, candidates generated here. Identical candidates are
    allowed."""
    made_here = [row for row in earlier if row.provenance != HANDED_IN]
    known, rows = {(place_of(row), row.patch) for row in made_here}, {(row.method, row.model) for row in made_here}
    for one in candidates:
        if (one.method, one.model) in rows and (place_of(one), one.patch) not in known and not one.problem:
            words = f"{Path(file).name} calls its method {one.method!r}, whose candidates in the store were made here"
            raise BadInput(words, hint=HINT)


def _shared(name: str, candidates: Iterable[Candidate], earlier: Iterable[Candidate]) -> Iterator[str]:
    """Yields one line per method that this file shares with other files, unless all its candidates are already
    stored."""
    known = {(place_of(row), row.patch) for row in earlier}
    own = {(row.method, row.model): _file_of(row) for row in candidates if (place_of(row), row.patch) not in known}
    others: dict[str, set[str]] = {}
    for row in earlier:
        if own.get((row.method, row.model), _file_of(row)) != _file_of(row):
            others.setdefault(row.method, set()).add(_file_of(row))
    for method, files in sorted(others.items()):
        yield f"{name}: {method!r} is counted as one method with what {', '.join(sorted(files))} calls so"


def place_of(candidate: Candidate) -> Place:
    """Returns the key under which tables count only the latest candidate."""
    return candidate.instance_id, candidate.method, candidate.model, candidate.sample


def _file_of(candidate: Candidate) -> str:
    """Returns the source file of a candidate without the line number; the method name for candidates of other
    sources."""
    file, _, line = candidate.source.rpartition(":")
    return file if line.isdigit() and file else candidate.source
