"""Run stage functions on units and record what is incomplete.

    units ─► executor (threads here, or Prefect tasks) ─► done: pairs of unit and result
                  └─ each incomplete unit ─► a row of `undone`, before the flow continues

A flow cannot lose a failure: the engine stores each one as a row before the flow sees any result. The exit code is a
query over these rows. An unexpected exception fails only its own unit, and its traceback is stored.
"""

from __future__ import annotations

import logging
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, overload, runtime_checkable

import tenacity

from tasks.adapters.progress import LINE_S, shown
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import SwtError
from tasks.domain.retrying import Retries, may_pass
from tasks.domain.undone import BUG, INTERRUPTED, FlowRound, PartialFailure, Undone, Unit, subjects_of, written

U = TypeVar("U", bound=Unit)
R = TypeVar("R")
S = TypeVar("S", bound="Summary")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

DONE, LEFT, USAGE, NOTHING = 0, 1, 2, 3
"""Exit codes: 0 done, 1 done with failures left, 2 wrong request (no task starts), 3 nothing could run."""

log = logging.getLogger("swt")


class Summary(Protocol):
    """Result of a flow."""

    @property
    def text(self) -> str:
        """The text to print."""

    @property
    def exit_code(self) -> int:
        """0, 1 or 3."""


@runtime_checkable
class Partial(Protocol):
    """A stage's result that lists the failed parts of its unit."""

    @property
    def left(self) -> Sequence[PartialFailure]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A unit that failed."""

    error: str
    detail: str
    hint: str = ""
    traceback: str = ""
    """Empty for an `SwtError`."""
    attempts: int
    may_pass: bool


@dataclass(frozen=True, slots=True)
class Done(Generic[U, R]):
    """Units with their results, in the order of the units. Failed units are rows of `undone` instead."""

    pairs: tuple[tuple[U, R], ...]

    def __iter__(self) -> Iterator[tuple[U, R]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def results(self) -> tuple[R, ...]:
        return tuple(result for _, result in self.pairs)

    @property
    def by_subject(self) -> Mapping[str, R]:
        """Unit name → result. Use it only if each unit has a different name."""
        return {unit.subject: result for unit, result in self.pairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBatch(Generic[U, R]):
    """One stage function and its units. mypy checks that the function accepts the units."""

    name: str
    function: Callable[[U], R]
    units: Sequence[U]
    at_once: int | None = None
    """Maximum units at a time. None: the executor decides."""


class Executor(Protocol):
    """Runs units and subflows, on threads or on Prefect."""

    def work(self, round_: TaskBatch[U, R], settled: Callable[[int, R | Failure], None]) -> None:
        """Run every unit. Calls `settled` with the unit's index and outcome in the calling thread, as soon as the unit
        has ended.

        An exception here is never the failure of a unit. It is an interruption or a broken executor.
        """

    def run_subflow(self, name: str, title: str, parameters: Mapping[str, Any], body: Callable[[str], S]) -> S:
        """Run `body` as a flow and pass it the id of its flow run."""


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Runs units on threads of this process, with a progress bar on standard error. Needs no server."""

    workers: int
    retries: Retries = field(default_factory=Retries)
    every_s: float = LINE_S
    """Seconds between two progress lines where no bar can be drawn, such as in a log file."""

    def work(self, round_: TaskBatch[U, R], settled: Callable[[int, R | Failure], None]) -> None:
        at_once = round_.at_once or self.workers
        with shown(round_.name, len(round_.units), self.every_s) as advance, ThreadPoolExecutor(at_once) as pool:
            asked: dict[Future[R | Failure], int] = {
                pool.submit(attempt, round_.function, unit, self.retries): place
                for place, unit in enumerate(round_.units)
            }
            try:
                for future in as_completed(asked):
                    settled(asked[future], future.result())
                    advance()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                if under_way := sum(future.running() for future in asked):
                    # Their results go to the store, so the next call of the same command finds them. The user need not
                    # wait.
                    log.warning("%s: waiting for %d under way; Ctrl-C again does not wait", round_.name, under_way)
                raise

    def run_subflow(self, name: str, title: str, parameters: Mapping[str, Any], body: Callable[[str], S]) -> S:  # noqa: ARG002
        return body(uuid.uuid4().hex)


@overload
def typed_partial(function: Callable[[A, U], R], a: A, /) -> Callable[[U], R]: ...
@overload
def typed_partial(function: Callable[[A, B, U], R], a: A, b: B, /) -> Callable[[U], R]: ...
@overload
def typed_partial(function: Callable[[A, B, C, U], R], a: A, b: B, c: C, /) -> Callable[[U], R]: ...
def typed_partial(function: Callable[..., R], *first: object) -> Callable[[Any], R]:
    """Bind all arguments of a stage function except its unit. mypy does not check `functools.partial` against a
    callable type, so it would accept a unit of the wrong type."""
    return partial(function, *first)


def start_flow(name: str, title: str, store: Store, executor: Executor, body: Callable[[FlowRun], S]) -> S:
    """Run a flow that is not a subflow."""
    return executor.run_subflow(name, title, {}, lambda flow_run: body(FlowRun(name, flow_run, store, executor)))


def attempt(function: Callable[[U], R], unit: U, retries: Retries) -> R | Failure:
    """Run the function on one unit. Retries errors that may pass. Returns the result, or a failure for any
    exception."""
    trying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(retries.attempts),
        wait=tenacity.wait_exponential(multiplier=retries.pause_s),
        retry=tenacity.retry_if_exception(may_pass) | tenacity.retry_if_result(_worth_another),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    try:
        return trying(function, unit)
    except Exception as error:  # any exception fails only its unit: the flow continues, and the row keeps the traceback
        return failure_of(error, attempts=trying.statistics.get("attempt_number", 1))


def _worth_another(result: object) -> bool:
    """Whether the result has a failed part that may pass and that the stage did not retry itself."""
    return isinstance(result, Partial) and any(one.may_pass and not one.tried_again for one in result.left)


def failure_of(error: Exception, *, attempts: int = 1) -> Failure:
    """Returns the failure for an exception."""
    if isinstance(error, SwtError):
        return Failure(error=error.slug, detail=str(error), hint=error.hint, attempts=attempts, may_pass=error.retry)
    said = "".join(traceback.format_exception(error))
    detail = f"{type(error).__name__}: {error}"
    return Failure(error=BUG, detail=detail, traceback=said, attempts=attempts, may_pass=False)


@dataclass(slots=True)
class FlowRun:
    """One flow run: runs tasks and subflows, and records what is incomplete."""

    story: str
    flow_run: str
    store: Store
    executor: Executor
    inner: list[FlowRun] = field(default_factory=list)
    """Subflows of this run, earlier ones included."""

    def map_task(
        self, name: str, function: Callable[[U], R], units: Iterable[U], *, at_once: int | None = None
    ) -> Done[U, R]:
        """Run the function on all units. Before it returns, each failed unit has a row in `undone`.

        An interruption is raised again after the interrupted units have their rows.
        """
        asked = tuple(units)
        notes = _Notes(self, name, asked, datetime.now(UTC))
        notes.keep()
        settled: dict[int, R] = {}

        def settle(place: int, result: R | Failure) -> None:
            if isinstance(result, Failure):
                notes.failed(asked[place], result)
                return
            settled[place] = result
            notes.did(asked[place], result)

        try:
            if asked:
                self.executor.work(TaskBatch(name=name, function=function, units=asked, at_once=at_once), settle)
        except BaseException as error:
            notes.interrupted(error)
            raise
        finally:
            notes.close()
        return Done(tuple((asked[place], settled[place]) for place in sorted(settled)))

    def record_failures(self, name: str, scope: str, left: Iterable[PartialFailure]) -> None:
        """Record failures that a stage found before there were any units."""
        now = datetime.now(UTC)
        rows = [_part(self, name, scope, one, now) for one in left]
        _say(rows)
        self.store.write(rows)

    def run_subflow(self, name: str, title: str, parameters: Mapping[str, Any], body: Callable[[FlowRun], S]) -> S:
        """Run a flow inside this one. Its incomplete units count for this one as well."""

        def entered(flow_run: str) -> S:
            run = FlowRun(name, flow_run, self.store, self.executor)
            self.inner.append(run)
            return body(run)

        return self.executor.run_subflow(name, title, parameters, entered)

    @property
    def flow_runs(self) -> tuple[str, ...]:
        """The ids of this flow run and of its subflows."""
        return (self.flow_run, *(one for run in self.inner for one in run.flow_runs))

    def incomplete(self, *, own: bool = False) -> tuple[Undone, ...]:
        """Returns the incomplete units from the store; `own` leaves out subflows."""
        rows = self.store.read(Undone, flow_run=(self.flow_run,) if own else self.flow_runs)
        return tuple(sorted(rows, key=lambda row: (row.at, row.round, row.subject)))

    def exit_code(self, *, nothing: bool = False) -> int:
        """Returns 3 if nothing could run or there was nothing to do, 1 if something is incomplete, else 0."""
        if nothing:
            return NOTHING
        return LEFT if self.incomplete() else DONE


@dataclass(slots=True)
class _Notes:
    """The rows of one task while it runs."""

    run: FlowRun
    name: str
    asked: Sequence[Unit]
    started: datetime
    rows: list[Undone] = field(default_factory=list)
    whole: list[tuple[str, str]] = field(default_factory=list)
    """Configuration and name of each unit without a failed part."""
    met: set[int] = field(default_factory=set)

    def did(self, unit: Unit, result: object) -> None:
        left = result.left if isinstance(result, Partial) else ()
        now = datetime.now(UTC)
        self.met.add(id(unit))
        self._add([_part(self.run, self.name, unit.scope, one, now) for one in left])
        missing = {one.subject for one in left}
        self.whole += [(unit.scope, subject) for subject in subjects_of(unit) if subject not in missing]

    def failed(self, unit: Unit, failure: Failure) -> None:
        self.met.add(id(unit))
        self._add([self._row(unit, subject, failure) for subject in subjects_of(unit)])

    def interrupted(self, error: BaseException) -> None:
        """Add rows for all units that have not ended."""
        detail = f"the flow run ended with {type(error).__name__}"
        what = Failure(error=INTERRUPTED, detail=detail, attempts=0, may_pass=True)
        missing = [unit for unit in self.asked if id(unit) not in self.met]
        self.rows += [self._row(unit, subject, what) for unit in missing for subject in subjects_of(unit)]
        kept = len(self.asked) - len(missing)
        log.warning(
            "%s: %d of %d were settled and are kept; the same again goes on there", self.name, kept, len(self.asked)
        )

    def keep(self, finished: datetime | None = None) -> None:
        """Write the task's own rows, one for each configuration. A second write replaces the first."""
        scopes = dict.fromkeys(unit.scope for unit in self.asked)
        rows = [self._round(scope, finished) for scope in scopes]
        self.run.store.write(rows, key=f"{self.run.flow_run}-{self.name}-{self.started:%H%M%S%f}")

    def close(self) -> None:
        """Write all rows to the store."""
        self.run.store.write(self.rows)
        if self.asked:
            self.keep(datetime.now(UTC))

    def _add(self, rows: list[Undone]) -> None:
        _say(rows)
        self.rows += rows

    def _row(self, unit: Unit, subject: str, failure: Failure) -> Undone:
        kept = self.run.store.put_file(failure.traceback.encode()) if failure.traceback else ""
        return Undone(
            flow_run=self.run.flow_run,
            story=self.run.story,
            round=self.name,
            subject=subject,
            scope=unit.scope,
            unit=written(unit),
            error=failure.error,
            detail=failure.detail,
            hint=failure.hint,
            traceback=kept,
            attempts=failure.attempts,
            may_pass=failure.may_pass,
            at=datetime.now(UTC),
        )

    def _round(self, scope: str, finished: datetime | None) -> FlowRound:
        return FlowRound(
            flow_run=self.run.flow_run,
            story=self.run.story,
            round=self.name,
            scope=scope,
            asked=tuple(one for unit in self.asked if unit.scope == scope for one in subjects_of(unit)),
            done=tuple(subject for where, subject in self.whole if where == scope),
            started_at=self.started,
            finished_at=finished,
        )


def _part(run: FlowRun, name: str, scope: str, left: PartialFailure, at: datetime) -> Undone:
    return Undone(
        flow_run=run.flow_run,
        story=run.story,
        round=name,
        subject=left.subject,
        scope=scope,
        unit="",
        error=left.error,
        detail=left.detail,
        hint=left.hint,
        traceback="",
        attempts=1,
        may_pass=left.may_pass,
        at=at,
    )


def _say(rows: Sequence[Undone]) -> None:
    for row in rows:
        log.warning("%s", line_of(row))
    for hint in dict.fromkeys(row.hint for row in rows if row.hint):
        log.warning("hint: %s", hint)


def line_of(row: Undone) -> str:
    """Returns a row as one line of text."""
    return f"{row.round} {row.subject}{f' ({row.scope})' if row.scope else ''}: {row.error}: {row.detail}"
