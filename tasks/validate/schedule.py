"""Selects the instances to validate this month and the published ones to re-check. No I/O.

New instances come newest first, but every third place of a repository goes to the instance that has waited longest.
Attempts that failed for other causes than the instance are retried after increasing pauses. A monthly share of the
valid instances is re-checked, those with the oldest check first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, zip_longest

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, RepoName
from tasks.domain.validation import InvalidReason, MonthTurn, Validation

NOT_ITS_FAULT = (
    InvalidReason.INFRASTRUCTURE,
    InvalidReason.INSTALL_ERROR,
    InvalidReason.RUNTIME_ERROR,
    InvalidReason.SKIPPED,
)
FIRST_BREAK = timedelta(days=25)
"""Pause after the first attempt without a result for the instance; it doubles with every further one.

It is shorter than a month, so that a monthly schedule does not miss it by an hour."""
LONGEST_BREAK = timedelta(days=360)
TRIES = 3
"""Number of consecutive internal failures after which a retry has to wait. It bounds the cost of permanent failures."""
WAITING = 3
"""Every this many places, one goes to the instance that has waited longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One instance with all its validations."""

    instance: TaskInstance
    history: tuple[Validation, ...] = ()
    """In ascending order of time."""

    @property
    def last(self) -> Validation | None:
        return self.history[-1] if self.history else None

    @property
    def attempts(self) -> int:
        """Number of days with attempts since the last result for the instance. Several attempts on one day count as
        one, for example retries after a disk repair."""
        return len({row.validated_at.date() for row in _trailing(self.history, NOT_ITS_FAULT)})

    @property
    def retired_at(self) -> datetime | None:
        """Time of the latest check that found a formerly valid instance invalid; None if it is not retired.

        Checks that failed for other causes than the instance are ignored.
        """
        telling = [row for row in self.history if row.reason not in NOT_ITS_FAULT]
        retired = any(row.valid for row in telling) and not telling[-1].valid
        return telling[-1].validated_at if retired else None

    @property
    def looks_since_valid(self) -> int:
        """Number of consecutive checks that found the instance no longer valid."""
        return sum(1 for row in reversed(self.history[_last_valid(self.history) + 1 :]))

    def is_due(self, now: datetime) -> bool:
        """Whether to validate it now: it has no validation yet, or the pause after an attempt without result is
        over."""
        last = self.last
        if last is None:
            return True
        if self.retired_at:  # re-checks with their own runs decide about it
            return False
        return self.failed_by_us or (last.reason in NOT_ITS_FAULT and now >= last.validated_at + pause(self.attempts))

    def is_due_again(self, now: datetime) -> bool:
        """Whether to re-check a retired instance now."""
        last = self.last
        if last is None or not self.retired_at:
            return False
        return self.failed_by_us or now >= last.validated_at + pause(self.looks_since_valid)

    def waiting_since(self) -> datetime:
        """Time of the last attempt; the instance's creation time if there is none."""
        return self.last.validated_at if self.last else (self.instance.created_at or datetime.min.replace(tzinfo=UTC))

    def seen_since(self, moment: datetime) -> bool:
        """Whether any check since then gave a result for the instance."""
        return any(row.validated_at > moment and row.reason is not InvalidReason.INFRASTRUCTURE for row in self.history)

    @property
    def failed_by_us(self) -> bool:
        """Whether its last attempts are internal failures, fewer than `TRIES`; the same command then retries at
        once."""
        return 0 < sum(1 for _ in _trailing(self.history, (InvalidReason.INFRASTRUCTURE,))) < TRIES


def pause(attempts: int) -> timedelta:
    """Returns the pause after this many failed attempts: 25 days, 50, 100, 200, then 360."""
    doubled = timedelta(days=FIRST_BREAK.days << min(max(attempts - 1, 0), 5))
    return min(doubled, LONGEST_BREAK)


def records(instances: Iterable[TaskInstance], judged: Iterable[Validation]) -> tuple[Record, ...]:
    """Returns one record per instance, in the same order."""
    rows: Mapping[InstanceKey, list[Validation]] = defaultdict(list)
    for row in sorted(judged, key=lambda row: row.validated_at):
        rows[row.instance_key].append(row)
    return tuple(Record(instance=one, history=tuple(rows.get(one.instance_key, ()))) for one in instances)


def turn(
    known: Iterable[Record], now: datetime, limit: int | None, month: Iterable[MonthTurn] = ()
) -> tuple[TaskInstance, ...]:
    """Returns the instances to validate, at most `limit` per repository.

    Repositories alternate, so that a budget that ends early is spent fairly. Instances already chosen for this `month`
    count towards the limit; the unfinished ones come first.
    """
    chosen = {one.instance_key for one in month if not one.look}
    by_repo: Mapping[RepoName, list[Record]] = defaultdict(list)
    for record in known:
        by_repo[record.instance.repo].append(record)
    queues = [list(_of_repository(by_repo[repo], now, limit, chosen)) for repo in sorted(by_repo)]
    return tuple(one for one in chain.from_iterable(zip_longest(*queues)) if one is not None)


def _of_repository(
    known: Sequence[Record], now: datetime, limit: int | None, chosen: Collection[InstanceKey]
) -> Iterator[TaskInstance]:
    before = [record for record in known if record.instance.instance_key in chosen]
    yield from (record.instance for record in before if record.is_due(now))
    places = None if limit is None else max(limit - len(before), 0)
    yield from islice(_in_turn(known, now, chosen), places)


def _in_turn(known: Sequence[Record], now: datetime, chosen: Collection[InstanceKey]) -> Iterator[TaskInstance]:
    """Yields the newest first; every third place, counted over all months, goes to the instance that has waited
    longest."""
    due = [record for record in known if record.is_due(now) and record.instance.instance_key not in chosen]
    fresh = (one for one in due if not one.history or one.failed_by_us)
    newest = sorted(fresh, key=lambda one: _age(one.instance), reverse=True)
    waiting = sorted(due, key=lambda one: (one.waiting_since(), one.instance.instance_id))
    place = sum(len(record.history) for record in known)
    taken: set[InstanceKey] = set()
    for _ in due:
        place += 1
        queue = waiting if place % WAITING == 0 else newest
        record = next((one for one in chain(queue, newest, waiting) if one.instance.instance_key not in taken), None)
        assert record is not None
        taken.add(record.instance.instance_key)
        yield record.instance


def to_look_at(
    old: Iterable[Record], share: float, now: datetime, month: Iterable[MonthTurn] = ()
) -> tuple[TaskInstance, ...]:
    """Returns the share of valid instances with the oldest check, and all retired ones that are due.

    If this `month` was chosen before, returns those of the earlier choice that are not checked yet.
    """
    known, before = tuple(old), tuple(month)
    if before:
        since = {one.instance_key: one.chosen_at for one in before if one.look}
        looks = (one for one in known if one.instance.instance_key in since)
        return tuple(one.instance for one in looks if not one.seen_since(since[one.instance.instance_key]))
    valid = sorted((one for one in known if one.last and one.last.valid), key=_last_look)
    sample = valid[: _ceil(share * len(valid))]
    again = [one for one in known if one.is_due_again(now)]
    return tuple(sorted((one.instance for one in (*sample, *again)), key=lambda one: one.instance_id))


def power(rate: float, runs: float) -> float:
    """Returns the probability that a case with failure rate `rate` fails at least once in this many runs."""
    return float(1 - (1 - rate) ** runs)


def _last_look(record: Record) -> tuple[datetime, str]:
    return record.waiting_since(), record.instance.instance_id


def _age(instance: TaskInstance) -> tuple[datetime, int, str]:
    """Returns the sort key of age. Uses the pull request number for equal dates: histories derived from git have only
    one date."""
    made = instance.created_at or datetime.min.replace(tzinfo=UTC)
    number = instance.instance_id.rpartition("-")[2]
    return made, int(number) if number.isdigit() else 0, instance.instance_id


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _trailing(history: Sequence[Validation], reasons: tuple[InvalidReason, ...]) -> Iterator[Validation]:
    for row in reversed(history):
        if row.reason not in reasons:
            return
        yield row


def _last_valid(history: Sequence[Validation]) -> int:
    return max((place for place, row in enumerate(history) if row.valid), default=-1)
