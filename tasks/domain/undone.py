"""Units of work: what is asked of a stage one by one, and what could not be done of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol, runtime_checkable

from tasks.domain.errors import SwtError
from tasks.domain.names import EnvId, InstanceId, RepoName
from tasks.domain.table import table

BUG = "bug"
"""Slug of an exception that is not ours."""
INTERRUPTED = "interrupted"
"""Slug of what was not begun, or not ended, when its flow run was."""


class Unit(Protocol):
    """A frozen dataclass of ids and plain values: it can be written down, and read back on another machine."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def subject(self) -> str:
        """The instance or repository that it is about."""

    @property
    def scope(self) -> str:
        """Where, or with what, the subject is worked on: a snapshot, a method and model; empty where there is one way
        only. A round of the same name that does the same subject in the same scope makes up for what was undone."""


@runtime_checkable
class Batch(Protocol):
    """A unit that is about several subjects."""

    @property
    def subjects(self) -> tuple[str, ...]: ...


def subjects_of(unit: Unit) -> tuple[str, ...]:
    """All that a unit is about."""
    return unit.subjects if isinstance(unit, Batch) else (unit.subject,)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfInstance:
    """What units about one instance of a snapshot have in common."""

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
    """What units that are done in the environment of their instance have in common."""

    env_id: EnvId


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSnapshot:
    """What units about a whole snapshot have in common."""

    snapshot: str

    @property
    def subject(self) -> str:
        return self.snapshot

    @property
    def scope(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRepository:
    """What units about one repository have in common."""

    repo: RepoName

    @property
    def subject(self) -> str:
        return self.repo

    @property
    def scope(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialFailure:
    """A part of a unit that its stage could not do, where the rest of it was done."""

    subject: str
    error: str
    """Slug, a section of docs/errors.md."""
    detail: str
    may_pass: bool
    tried_again: bool = True
    """Whether the stage has tried again by itself; otherwise the whole unit is tried again where that may help."""
    hint: str = ""
    """What to do about it."""

    @staticmethod
    def by(subject: str, error: SwtError, *, tried_again: bool = True) -> PartialFailure:
        """What an error of ours left."""
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
    """One subject that a round of a flow run did not do. What a later round did is in `undone_now` no more."""

    flow_run: str
    """Prefect's id of the flow run; of one without a server, an id of its own."""
    story: str
    """`evaluate`, `validate`, `rebuild` and so on; of a story inside another, its own name."""
    round: str
    """Name of the round, as progress shows it."""
    subject: str
    """Instance, repository or shard."""
    scope: str
    """Snapshot, method and model, as far as they matter."""
    unit: str
    """The whole unit as JSON; empty where it is a part of one."""
    error: str
    """Slug of the error, a section of docs/errors.md; `bug` for an exception that is not ours."""
    detail: str
    """What went wrong, for people."""
    hint: str
    """What to do next; empty where nobody knows."""
    traceback: str
    """SHA-256 of a file under `files/`; empty for errors of ours, whose message says it all."""
    attempts: int
    """How often it was tried; 0 where it never began."""
    may_pass: bool
    """Whether trying again may help."""
    at: datetime
    """When it was given up."""


@table("flow_run", "round", "scope", folder="story")
@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRound:
    """One round of a flow run: what it was to do, and what it did."""

    flow_run: str
    """As in `undone`."""
    story: str
    """As in `undone`."""
    round: str
    """As in `undone`."""
    scope: str
    """As in `undone`."""
    asked: tuple[str, ...]
    """Subjects."""
    done: tuple[str, ...]
    """Those of them that were done whole."""
    started_at: datetime
    finished_at: datetime | None
    """Null while it is under way, and for ever where its process was killed."""


def written(unit: Unit) -> str:
    """A unit as JSON. `TypeError` where it holds anything but plain values, moments, paths and dataclasses of these."""
    return json.dumps(asdict(unit), default=_plain, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, datetime) or hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"a unit holds ids and plain values, not {type(value).__name__}")
