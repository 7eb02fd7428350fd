"""Loads candidates from predictions files, controls and the store, and stores them with their submissions.

Writes `candidate`, `submission`, `suite`, `edited_definition` and `lint_finding`. Rows that are already stored stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.input_files.raw import LineProblem
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate, Submission, Suite
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, MethodName, ModelName, SuiteId
from tasks.domain.outcome import Policy, SuiteKind
from tasks.domain.places import Places
from tasks.domain.undone import PartialFailure
from tasks.evaluate.intake.controls import GOLDEN, NOP, golden_candidate, nop_candidate
from tasks.evaluate.intake.identity import (
    RESERVED,
    Place,
    merged,
    method_names,
    place_of,
    refuse_disguised,
    resubmitted,
)
from tasks.evaluate.intake.predictions import NO_SUCH_INSTANCE, Predictions, read_predictions
from tasks.evaluate.intake.stored_candidates import is_stored, stored_candidates
from tasks.evaluate.intake.submissions import ProcessedCandidates, intake_version, take_in


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCandidates:
    """The processed candidates of a request, by instance."""

    suites: Mapping[InstanceId, tuple[SuiteId, ...]]
    """Suites to run."""
    methods: frozenset[tuple[MethodName, ModelName | None]]
    """Methods of the candidates, with the model of each."""
    candidates: int
    malformed: int
    left: tuple[PartialFailure, ...]
    """Instances whose mirror or base commit is missing."""
    problems: tuple[str, ...]
    """One line each: rows of predictions files that could not be read, golden tests that do not apply."""
    notes: tuple[str, ...]
    """One line each: unknown keys of a file, methods whose candidates are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSources:
    """The contents of sources before anything is stored."""

    by_source: Mapping[str, Predictions]
    candidates: tuple[Candidate, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def take_candidates(
    places: Places,
    sources: tuple[str, ...],
    instances: tuple[TaskInstance, ...],
    policy: Policy,
    references: bool,
    methods: Iterable[str] = (),
) -> LoadedCandidates:
    """Reads candidates from predictions files, controls and the store, and stores them with their submissions.

    With `references`, the golden suite of every instance is run as well. `methods` are names for the methods of files
    (`identity.method_names`). Raises `UsageError` or `BadInput` if a file would replace the candidates of another one.
    """
    now = datetime.now(UTC)
    store = Store(places.store)
    read = read_sources(store, sources, instances, methods, now)
    candidates, problems = read.candidates, [*read.problems]
    by_instance: dict[str, list[Candidate]] = {instance.instance_id: [] for instance in instances}
    for candidate in candidates:
        by_instance[candidate.instance_id].append(candidate)
    mirrors = Mirrors(places.mirrors)
    intakes = dict(_known_intakes(store, policy, instances, by_instance))
    read_before = _suites_read(store, [one for one in instances if one.instance_id not in intakes])
    fresh: list[ProcessedCandidates] = []
    left: list[PartialFailure] = []
    for instance in instances:
        if instance.instance_id in intakes:
            continue
        read_base = partial(mirrors.read_file, instance.repo, instance.base_commit)
        try:
            taken = take_in(instance, by_instance[instance.instance_id], policy, read_base, read_before)
        except NotFound as error:
            left.append(PartialFailure.by(instance.instance_id, error))
        else:
            fresh.append(taken)
            intakes[instance.instance_id] = taken
    _store_candidates(store, {source: got for source, got in read.by_source.items() if not is_stored(source)})
    _store_intake(store, fresh)
    submissions = [row for intake in intakes.values() for row in intake.submissions]
    problems += [f"{name}: golden tests: {i.golden_refused}" for name, i in intakes.items() if i.golden_refused]
    return LoadedCandidates(
        suites={name: intake.suites_to_run(references=references) for name, intake in intakes.items()},
        methods=frozenset((row.method, row.model) for row in candidates),
        candidates=len(submissions),
        malformed=sum(not row.well_formed for row in submissions),
        left=tuple(left),
        problems=tuple(problems),
        notes=read.notes,
    )


def read_sources(
    store: Store,
    sources: Iterable[str],
    instances: tuple[TaskInstance, ...],
    methods: Iterable[str] = (),
    now: datetime | None = None,
) -> ReadSources:
    """Reads sources like `take_candidates`, without storing. Raises `UsageError` or `BadInput` in the same cases."""
    read = _read_sources(store, sources, methods, instances, now or datetime.now(UTC))
    lines = (line for source, got in read.items() for line in lines_of(store, source, got.problems, instances))
    notes = (note for got in read.values() for note in got.notes)
    return ReadSources(
        by_source=read,
        candidates=merged(read),
        problems=tuple(lines),
        notes=(*notes, *_resubmissions(store, read)),
    )


def check_sources(
    places: Places, sources: tuple[str, ...], instances: tuple[TaskInstance, ...], methods: Iterable[str] = ()
) -> None:
    """Raises the errors that `take_candidates` would raise, so that a flow can fail before expensive work."""
    read_sources(Store(places.store), sources, instances, methods)


def _read_sources(
    store: Store, sources: Iterable[str], methods: Iterable[str], instances: tuple[TaskInstance, ...], now: datetime
) -> dict[str, Predictions]:
    """Returns {source: its predictions}, with the method names that the user gave for files."""
    files = tuple(dict.fromkeys(filter(_is_file, sources)))
    names = method_names(files, methods)
    read = {source: _read_source(store, source, instances, now, names.get(source)) for source in dict.fromkeys(sources)}
    for file in files:
        refuse_disguised(file, read[file].candidates)
    return read


def _is_file(source: str) -> bool:
    return source not in RESERVED and not is_stored(source)


def _resubmissions(store: Store, read: Mapping[str, Predictions]) -> list[str]:
    """Returns one line per method that a file resubmits. Raises `BadInput` if another file uses the method name."""
    lines: list[str] = []
    for file in filter(_is_file, read):
        candidates = read[file].candidates
        methods, snapshots = {row.method for row in candidates}, {row.snapshot for row in candidates}
        earlier = store.read(Candidate, snapshot=snapshots, method=methods, problem="") if candidates else ()
        lines += resubmitted(file, candidates, earlier)
    return lines


def _read_source(
    store: Store, source: str, instances: tuple[TaskInstance, ...], now: datetime, method: str | None
) -> Predictions:
    """Reads one source: the name of a control, `stored:METHOD`, or else the path of a predictions file."""
    if source == GOLDEN:
        return Predictions(tuple(golden_candidate(instance, created_at=now) for instance in instances), ())
    if source == NOP:
        return Predictions(tuple(nop_candidate(instance, created_at=now) for instance in instances), ())
    if is_stored(source):
        return stored_candidates(store, source, instances)
    return read_predictions(Path(source), instances, created_at=now, method=method)


def lines_of(store: Store, source: str, problems: Sequence[LineProblem], asked: Iterable[TaskInstance]) -> list[str]:
    """Formats the problems of a file of candidates or repairs.

    Rows of instances that are in the snapshot but not in `asked` are summarised in one line: they may be half of the
    file.
    """
    strangers = {problem.instance_id for problem in problems if problem.what == NO_SUCH_INSTANCE}
    snapshots = {instance.snapshot for instance in asked} if strangers else set()
    others = {row.instance_id for row in store.read(TaskInstance, snapshot=snapshots)} & strangers if snapshots else ()
    named = [problem for problem in problems if problem.instance_id not in others]
    left = len(problems) - len(named)
    lines = [f"{Path(source).name}: {left} rows are of instances that were not asked for"] if left else []
    return [*lines, *(_line_of(source, problem) for problem in named)]


def _line_of(source: str, problem: LineProblem) -> str:
    return f"{Path(source).name}:{problem.line}: {problem.instance_id or '?'}: {problem.what}"


def _known_intakes(
    store: Store, policy: Policy, instances: Iterable[TaskInstance], by_instance: Mapping[str, Sequence[Candidate]]
) -> Iterator[tuple[InstanceId, ProcessedCandidates]]:
    """Yields the stored results of instances whose candidates were all processed by the current code version."""
    asked = {candidate.candidate_id for candidates in by_instance.values() for candidate in candidates}
    judged = {
        row.candidate_id: row
        for row in store.read(Submission, candidate_id=asked, policy=policy)
        if row.judged_by == intake_version()
    }
    keys = {instance.instance_key for instance in instances}
    stored = {suite.suite_id: suite for suite in store.read(Suite, instance_key=keys)} if judged else {}
    golden = {suite.instance_key: suite for suite in stored.values() if suite.kind is SuiteKind.GOLDEN}
    for instance in instances:
        own = [judged.get(candidate.candidate_id) for candidate in by_instance[instance.instance_id]]
        rows = tuple(row for row in own if row is not None)
        suites = [row.suite_id for row in rows if row.suite_id]
        first = golden.get(instance.instance_key)
        if first and rows and len(rows) == len(own) and all(suite_id in stored for suite_id in suites):
            wanted = dict.fromkeys((first.suite_id, *suites))
            known = tuple(stored[one] for one in wanted)
            yield instance.instance_id, ProcessedCandidates(submissions=rows, suites=known)


def _suites_read(store: Store, instances: Iterable[TaskInstance]) -> frozenset[SuiteId]:
    """Returns the suites of these instances whose code was already read by the current code version.

    Golden suites nearly always were, and reading one takes 0.1 CPU s.
    """
    keys = {instance.instance_key for instance in instances}
    judged = store.read(Submission, instance_key=keys) if keys else ()
    return frozenset(row.suite_id for row in judged if row.suite_id and row.judged_by == intake_version())


def _store_candidates(store: Store, read: Mapping[str, Predictions]) -> None:
    """Stores the candidates, except those that equal the latest stored row of their place."""
    candidates = [candidate for predictions in read.values() for candidate in predictions.candidates]
    snapshots, methods = {row.snapshot for row in candidates}, {row.method for row in candidates}
    known = store.read(Candidate, snapshot=snapshots, method=methods) if candidates else ()
    last = {_told(row): row for row in sorted(known, key=lambda row: (row.created_at, row.candidate_id))}
    store.write([row for row in candidates if not _is_known(row, last.get(_told(row)))])


def _told(row: Candidate) -> tuple[Place, str]:
    """Returns the key of a row. It contains the problem, because rows that could not be read have no place of their
    own."""
    return place_of(row), row.problem


def _is_known(candidate: Candidate, last: Candidate | None) -> bool:
    return last is not None and replace(last, created_at=candidate.created_at) == candidate


def _store_intake(store: Store, intakes: Sequence[ProcessedCandidates]) -> None:
    """Stores the processed candidates, one file per table; later rows with the same key replace earlier ones.

    Submissions are written last: a stored submission means that the other rows are complete.
    """
    store.write([row for intake in intakes for row in intake.suites])
    store.write([row for intake in intakes for row in intake.edited])
    store.write([row for intake in intakes for row in intake.lint])
    store.write([replace(row, judged_by=intake_version()) for intake in intakes for row in intake.submissions])
