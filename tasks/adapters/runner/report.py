"""Reads what the runner wrote: tolerant of torn, foreign and repeated records, for code under test may be hostile."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tasks.adapters.runner.seal import unsealed
from tasks.domain.names import CaseId, LineNo, RepoPath, RunKey, sorted_lines
from tasks.domain.outcome import Outcome, Phase
from tasks.domain.run import CaseOutcome, LineHit, Watch, WatchedFile

MAX_CASES = 200_000
MAX_CHARS = 128_000_000
"""Of names and messages together: as many cases with names of 150 characters, which few have, fill it."""
MAX_RECORDS = 4_000_000
MAX_RECORD_BYTES = 8 << 20
MAX_COUNT = 10**12
"""Executions of one line in one record: more than any run has time for, and few enough for sums in 64 bits."""
MESSAGE_CHARS = 4000
ID_CHARS = 4000

GRAVITY = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.TIMEOUT,
    Outcome.XPASSED,
    Outcome.SKIPPED,
    Outcome.XFAILED,
    Outcome.PASSED,
)
"""Of several outcomes of one case id, the gravest counts."""


@dataclass(frozen=True, slots=True)
class RunnerStep:
    """A case, or a set-up or teardown that several share, as the runner names it before it runs."""

    case_id: CaseId
    path: RepoPath
    qualname: str
    phase: Phase
    place: int | None = None
    """Position among the cases of its function, from 0; null for what is no case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run as its report file tells it."""

    run_key: RunKey
    cases: tuple[CaseOutcome, ...]
    """In the order in which they finished; one row for each case id."""
    hits: tuple[LineHit, ...]
    watched: tuple[WatchedFile, ...]
    completed: bool
    """Whether the runner got to its end record, and nothing of what it said was lost."""
    complaint: str
    """What the repository's runner said against running at all; empty otherwise."""
    running: RunnerStep | None
    """What had begun and not finished when the report ends."""
    exit_code: int | None
    """Of the repository's runner; null without an end record."""
    collected: tuple[RunnerStep, ...] = ()
    """Every case that the runner was about to run, in the phase that comes first."""
    files: tuple[RepoPath, ...] = ()
    """Test files whose collection had come to its end."""
    unprobed: tuple[RepoPath, ...] = ()
    """Watched files that were executed without probes: no statement about their lines can be made."""
    duplicates: tuple[CaseId, ...] = ()
    """Case ids that came with more than one row."""
    garbage: int = 0
    """Lines that are no records of the runner's: torn, or written by somebody else."""
    overflow: int = 0
    """How often something was dropped beyond `MAX_CASES` or `MAX_CHARS`: how such a case ended is not known."""

    def settled(self, files: Iterable[RepoPath], why: str, *, under_way: Outcome, cut: bool) -> Report:
        """The same with a row for everything that the run did not get to; `why` says what ended it.

        What was under way becomes `under_way`. A case that was collected and never began is an error in its set-up.
        Of a session that was `cut` off, every test file that nothing is known of is an error in its collection, and so
        is every one where cases were dropped: what failed may be among them.
        The repository's own runner prints no line for cases that never began or never ended: their rows have no label.
        """
        known = {row.case_id: row for row in self.cases}
        dropped = [self._file(name, "more cases than are kept") for name in files if self.overflow]
        for row in (*self._unfinished(files if cut else (), why, under_way), *dropped):
            first = known.get(row.case_id)
            known[row.case_id] = gravest(first, row) if first else replace(row, position=len(known))
        return replace(self, cases=tuple(known.values()), running=None)

    def _unfinished(self, files: Iterable[RepoPath], why: str, under_way: Outcome) -> Iterator[CaseOutcome]:
        told = {row.case_id for row in self.cases}
        if self.running is not None:
            row = self._row(self.running, under_way, f"the run was ended while this was under way: {why}")
            yield replace(row, label="")
            told.add(self.running.case_id)
        for case in self.collected:
            if case.case_id not in told:
                yield replace(self._row(case, Outcome.ERROR, f"never begun: {why}"), label="")
        seen = {*self.files, *(row.path for row in self.cases), *(step.path for step in self.collected)}
        for name in files:
            if seen.isdisjoint((name, _path(name))):
                yield self._file(name, why)

    def _file(self, name: str, why: str) -> CaseOutcome:
        """A test file, or what of one was to run, as an error in its collection."""
        step = RunnerStep(CaseId(name), _path(name), "", Phase.COLLECT)
        return replace(self._row(step, Outcome.ERROR, why), label="")

    def _row(self, step: RunnerStep, outcome: Outcome, message: str) -> CaseOutcome:
        return CaseOutcome(
            run_key=self.run_key,
            case_id=step.case_id,
            path=step.path,
            qualname=step.qualname,
            label=step.case_id,
            position=0,
            phase=step.phase,
            outcome=outcome,
            duration_s=None,
            message=_text(message),
            place=step.place,
        )


def _path(name: str) -> RepoPath:
    """Of a test file, or of one case that runs alone."""
    return RepoPath(name.partition("::")[0])


def gravest(first: CaseOutcome, second: CaseOutcome) -> CaseOutcome:
    """Of two rows of one case the one that counts, in the place of the first."""
    return replace(min(first, second, key=lambda row: GRAVITY.index(row.outcome)), position=first.position)


def read_report(path: Path, run_key: RunKey, seal: bytes, watch: Iterable[Watch] | None = None) -> Report:
    """The report at `path`, as far as it bears `seal`; a missing or empty file is a run that never got going.

    Of lines, those of `watch` are kept, all where it is null: the runner reports more lines than are watched.
    """
    reading = _Reading(run_key, None if watch is None else {one.path: frozenset(one.lines) for one in watch})
    for record in _records(path, seal, reading):
        reading.take(record)
    return reading.report()


def _records(path: Path, seal: bytes, reading: _Reading) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    with path.open("rb") as source:
        lines = iter(lambda: source.readline(MAX_RECORD_BYTES), b"")
        for line in unsealed(islice(lines, MAX_RECORDS), seal):
            record = None if line is None else _parse(line)
            if record is not None:
                yield record
            else:
                reading.garbage += 1


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("k"), str) else None


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    run_key: RunKey
    watch: Mapping[RepoPath, frozenset[LineNo]] | None
    cases: dict[CaseId, CaseOutcome] = field(default_factory=dict)
    hits: dict[tuple[RepoPath, CaseId | None], dict[LineNo, int]] = field(default_factory=dict)
    uncounted: set[tuple[RepoPath, CaseId | None]] = field(default_factory=set)
    """Of `hits`, those that came without counts, if only once."""
    watched: dict[RepoPath, WatchedFile] = field(default_factory=dict)
    unprobed: list[RepoPath] = field(default_factory=list)
    duplicates: dict[CaseId, None] = field(default_factory=dict)
    collected: dict[CaseId, RunnerStep] = field(default_factory=dict)
    files: dict[RepoPath, None] = field(default_factory=dict)
    running: RunnerStep | None = None
    end: dict[str, Any] | None = None
    closed: bool = False
    garbage: int = 0
    overflow: int = 0
    chars: int = 0
    """Of all that is kept."""

    def take(self, record: dict[str, Any]) -> None:
        """Add one record; what is not of its shape, or comes after the end, counts as garbage."""
        takers = {
            "collected": self._collected,
            "begin": self._begin,
            "shared": self._shared,
            "case": self._case,
            "hits": self._hits,
            "file": self._file,
            "end": self._end,
        }
        taker = takers.get(record["k"]) if self.end is None else None
        if record["k"] == "closed":
            taker = self._closed
        if taker is None or not taker(record):
            self.garbage += 1

    def _collected(self, record: dict[str, Any]) -> bool:
        cases, files = record.get("cases"), record.get("files")
        if not isinstance(cases, list) or not isinstance(files, list):
            return False
        steps = [_step(case, Phase.SETUP) for case in cases]
        for step in filter(None, steps):
            if step.case_id in self.collected or self._has_room(self.collected, step.case_id, step.path, step.qualname):
                self.collected[step.case_id] = step
        self.files.update((RepoPath(_text(path)), None) for path in files)
        return None not in steps

    def _has_room(self, kept: Collection[object], *texts: str) -> bool:
        """Whether one more can be kept, which is counted either way."""
        needed = sum(map(len, texts))
        if len(kept) >= MAX_CASES or self.chars + needed > MAX_CHARS:
            self.overflow += 1
            return False
        self.chars += needed
        return True

    def _begin(self, record: dict[str, Any]) -> bool:
        case = record.get("case")
        if not isinstance(case, str):
            return False
        name = CaseId(_text(case, ID_CHARS))
        known = self.collected.get(name) or RunnerStep(name, RepoPath(""), "", Phase.CALL)
        self.running = replace(known, phase=Phase.CALL)
        return True

    def _shared(self, record: dict[str, Any]) -> bool:
        """A teardown that several cases share: it has a row only if it goes wrong."""
        self.running = _step(record.get("step"), Phase.TEARDOWN)
        return True

    def _case(self, record: dict[str, Any]) -> bool:
        row = _row(self.run_key, record, len(self.cases))
        if row is None:
            return False
        if self.running is not None and row.case_id == self.running.case_id:
            self.running = None
        if step := self.collected.get(row.case_id):
            row = replace(row, place=step.place)
        known = self.cases.get(row.case_id)
        if known is not None:
            self.duplicates[row.case_id] = None
            self.cases[row.case_id] = gravest(known, row)
        elif self._has_room(self.cases, row.case_id, row.path, row.qualname, row.label, row.message):
            self.cases[row.case_id] = row
        return True

    def _hits(self, record: dict[str, Any]) -> bool:
        path, case, found = record.get("path"), record.get("case"), _counted_lines(record)
        if not isinstance(path, str) or not isinstance(case, str | None) or found is None:
            return False
        key = RepoPath(_text(path)), None if case is None else CaseId(_text(case, ID_CHARS))
        if self.watch is not None:
            found = {line: count for line, count in found.items() if line in self.watch.get(key[0], ())}
        if not found or (key not in self.hits and not self._has_room((), key[0], key[1] or "")):
            return True
        known = self.hits.setdefault(key, {})
        for line, count in found.items():
            known[line] = known.get(line, 0) + count
        if record.get("counts") is None:
            self.uncounted.add(key)
        return True

    def _file(self, record: dict[str, Any]) -> bool:
        path, executable = record.get("path"), _lines(record.get("executable"))
        if not isinstance(path, str) or executable is None:
            return False
        name, loaded = RepoPath(_text(path)), record.get("loaded") is True
        if self.watch is not None:
            if name not in self.watch:
                return True
            executable = tuple(filter(self.watch[name].__contains__, executable))
        self.watched[name] = WatchedFile(run_key=self.run_key, path=name, loaded=loaded, executable=executable)
        if record.get("probed") is not True:
            self.unprobed.append(name)
        return True

    def _end(self, record: dict[str, Any]) -> bool:
        self.end = record
        return True

    def _closed(self, record: dict[str, Any]) -> bool:
        """The keeper's last word: nothing that the runner sent was lost, and how much was not the runner's."""
        self.closed = record.get("lost") == 0
        refused = record.get("refused")
        self.garbage += refused if isinstance(refused, int) else 0
        return True

    def report(self) -> Report:
        end = self.end or {}
        code = end.get("exit")
        return Report(
            run_key=self.run_key,
            cases=tuple(self.cases.values()),
            hits=tuple(self._hit_rows()),
            watched=(*self.watched.values(), *self._not_loaded()),
            completed=self.end is not None and self.closed,
            complaint=_text(end.get("complaint") or ""),
            running=self.running,
            collected=tuple(self.collected.values()),
            files=tuple(self.files),
            exit_code=code if isinstance(code, int) else None,
            unprobed=tuple(self.unprobed),
            duplicates=tuple(self.duplicates),
            garbage=self.garbage,
            overflow=self.overflow,
        )

    def _not_loaded(self) -> Iterator[WatchedFile]:
        """Watched files of which a runner that got to its end says nothing."""
        for path in self.watch or () if self.end else ():
            if path not in self.watched:
                yield WatchedFile(run_key=self.run_key, path=path, loaded=False, executable=())

    def _hit_rows(self) -> Iterator[LineHit]:
        for key, found in self.hits.items():
            (path, case), lines = key, sorted_lines(found)
            counts = None if key in self.uncounted else tuple(found[line] for line in lines)
            yield LineHit(run_key=self.run_key, path=path, case_id=case, lines=lines, counts=counts)


def _row(run_key: RunKey, record: dict[str, Any], position: int) -> CaseOutcome | None:
    """A row, or null where the record has no case id, outcome or phase that we know."""
    case = record.get("case")
    try:
        outcome, phase = Outcome(record.get("outcome", "")), Phase(record.get("phase", ""))
    except ValueError:
        return None
    if not isinstance(case, str) or not case:
        return None
    duration = record.get("duration")
    timed = isinstance(duration, int | float) and not isinstance(duration, bool) and 0 <= duration < float("inf")
    return CaseOutcome(
        run_key=run_key,
        case_id=CaseId(_text(case, ID_CHARS)),
        path=RepoPath(_text(record.get("path", ""), ID_CHARS)),
        qualname=_text(record.get("qualname", ""), ID_CHARS),
        label=_text(record.get("label", case), ID_CHARS),
        position=position,
        phase=phase,
        outcome=outcome,
        duration_s=float(duration) if timed and duration is not None else None,
        message=_text(record.get("message", "")),
    )


def _step(value: object, phase: Phase) -> RunnerStep | None:
    """[name, path, qualname], for a case with its place behind, as a step; null where `value` is something else."""
    if not isinstance(value, list) or len(value) not in (3, 4) or not all(isinstance(part, str) for part in value[:3]):
        return None
    place = value[3] if len(value) == 4 else None
    if place is not None and (type(place) is not int or not 0 <= place < MAX_CASES):
        return None
    name, path, qualname = (_text(part, ID_CHARS) for part in value[:3])
    return RunnerStep(CaseId(name), RepoPath(path), qualname, phase, place) if name else None


def _lines(value: object) -> tuple[LineNo, ...] | None:
    """Ascending line numbers, or null where `value` is no list of positive integers."""
    if not isinstance(value, list):
        return None
    if not all(isinstance(line, int) and not isinstance(line, bool) and 0 < line < 10_000_000 for line in value):
        return None
    return sorted_lines(value)


def _counted_lines(record: dict[str, Any]) -> dict[LineNo, int] | None:
    """{line: how often it ran} of a record of hits, 1 where it does not say; null where it is malformed."""
    lines, counts = record.get("lines"), record.get("counts")
    if _lines(lines) is None:
        return None
    assert isinstance(lines, list)
    if counts is None:
        return dict.fromkeys(map(LineNo, lines), 1)
    if not isinstance(counts, list) or len(counts) != len(lines):
        return None
    if not all(type(count) is int and 0 < count < MAX_COUNT for count in counts):
        return None
    return dict(zip(map(LineNo, lines), counts, strict=True))


def _text(value: object, limit: int = MESSAGE_CHARS) -> str:
    """`value` as text that UTF-8 can hold, at most `limit` characters: lone surrogates become `\\udcXX`."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:limit]
