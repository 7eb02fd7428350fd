"""Units of work of a stage, and their incomplete subjects."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol, runtime_checkable

from tasks.domain.errors import SwtError
from tasks.domain.names import EnvId, InstanceId, RepoName
from tasks.domain.table import table

BUG = "bug"
"""Slug of an exception that is no `SwtError`."""
INTERRUPTED = "interrupted"
"""Slug of work that had not started, or not ended, when its flow run ended."""


class Unit(Protocol):
    """A frozen dataclass of ids and plain values: it can be serialised, and read on another machine."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def subject(self) -> str:
        """The instance or repository of the unit."""

    @property
    def scope(self) -> str:
        """The context of the work: a snapshot, a method and model; empty if there is only one.

        A later round with the same name that completes the same subject in the same scope resolves an `undone` row.
        """


@runtime_checkable
class Batch(Protocol):
    """A unit with several subjects."""

    @property
    def subjects(self) -> tuple[str, ...]: ...


def subjects_of(unit: Unit) -> tuple[str, ...]:
    """Returns all subjects of a unit."""
    return unit.subjects if isinstance(unit, Batch) else (unit.subject,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfInstance:
    """Base class of units about one instance of a snapshot."""

    snapshot: str
    instance_id: InstanceId

    @property
    def subject(self) -> str:
        return self.instance_id

    @property
    def scope(self) -> str:
        return self.snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class InEnvironment(OfInstance):
    """Base class of units that run in the environment of their instance."""

    env_id: EnvId


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSnapshot:
    """Base class of units about a whole snapshot."""

    snapshot: str

    @property
    def subject(self) -> str:
        return self.snapshot

    @property
    def scope(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRepository:
    """Base class of units about one repository."""

    repo: RepoName

    @property
    def subject(self) -> str:
        return self.repo

    @property
    def scope(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialFailure:
    """An incomplete part of a unit whose other parts are done."""

    subject: str
    error: str
    """Slug, a section of docs/errors.md."""
    detail: str
    may_pass: bool
    tried_again: bool = True
    """Whether the stage has already retried; otherwise the whole unit is retried if that may help."""
    hint: str = ""
    """The next step for the user."""

    @staticmethod
    def by(subject: str, error: SwtError, *, tried_again: bool = True) -> PartialFailure:
        """Returns the failure for a `SwtError`."""
        return PartialFailure(
            subject=subject,
            error=error.slug,
            detail=str(error),
            may_pass=error.retry,
            tried_again=tried_again,
            hint=error.hint,
        )


@table("flow_run", "round", "scope", "subject", folder="story", files=("traceback",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """One subject that a round of a flow run did not complete.

    `undone_now` omits subjects that a later round completed.
    """

    flow_run: str
    """Prefect's id of the flow run; without a server, a generated id."""
    story: str
    """Name of the flow, such as `evaluate`, `validate`, `rebuild`; for a subflow, its own name."""
    round: str
    """Name of the round, as in the progress display."""
    subject: str
    """Instance, repository or shard."""
    scope: str
    """Snapshot, method and model, as far as they matter."""
    unit: str
    """The whole unit as JSON; empty if the row is about a part of one."""
    error: str
    """Slug of the error, a section of docs/errors.md; `bug` for an exception that is no `SwtError`."""
    detail: str
    """The error message."""
    hint: str
    """The next step for the user; empty if unknown."""
    traceback: str
    """SHA-256 of a file under `files/`; empty for a `SwtError`, whose message is sufficient."""
    attempts: int
    """Number of attempts; 0 if it never started."""
    may_pass: bool
    """Whether a retry may help."""
    at: datetime
    """When the last attempt failed."""


@table("flow_run", "round", "scope", folder="story")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRound:
    """One round of a flow run: its requested and its completed subjects."""

    flow_run: str
    """As in `undone`."""
    story: str
    """As in `undone`."""
    round: str
    """As in `undone`."""
    scope: str
    """As in `undone`."""
    asked: tuple[str, ...]
    """Requested subjects."""
    done: tuple[str, ...]
    """Subjects that were completed."""
    started_at: datetime
    finished_at: datetime | None
    """Null while it is running, and permanently if its process was killed."""


def written(unit: Unit) -> str:
    """Returns a unit as JSON. Raises `TypeError` for values other than plain ones, datetimes, paths and dataclasses."""
    return json.dumps(asdict(unit), default=_plain, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, datetime) or hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"a unit holds ids and plain values, not {type(value).__name__}")
