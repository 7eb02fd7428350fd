"""Whose turn it is: which instances are judged this month, and which old ones are looked at again. Pure.

New instances come newest first, but every third place of a repository belongs to who waits longest, so that nobody
starves. What was not the instance's fault is tried again, after ever longer breaks. Of the old ones those are looked at
whose last look is longest ago, a share each month.
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
"""After the first attempt that says nothing of the instance, so that the next month tries again; it doubles with every
further one. Shorter than a month: a schedule must not miss it by an hour."""
LONGEST_BREAK = timedelta(days=360)
TRIES = 3
"""Failures of ours in a row after which the next try has to wait. What always fails must not hold a month back."""
WAITING = 3
"""Every so manieth place is for who waits longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of one instance, from all its validations."""

    instance: TaskInstance
    history: tuple[Validation, ...] = ()
    """The earliest first."""

    @property
    def last(self) -> Validation | None:
        return self.history[-1] if self.history else None

    @property
    def attempts(self) -> int:
        """On how many days it was tried since anything was learnt about it. Who mends a disk and asks again
        the same evening has made one attempt."""
        return len({row.validated_at.date() for row in _trailing(self.history, NOT_ITS_FAULT)})

    @property
    def retired_at(self) -> datetime | None:
        """Since when its looks say, for reasons of its own, that it is not valid, though it was once: when the latest
        of them did. A look after it that failed by us says nothing, and leaves it as it is."""
        telling = [row for row in self.history if row.reason not in NOT_ITS_FAULT]
        retired = any(row.valid for row in telling) and not telling[-1].valid
        return telling[-1].validated_at if retired else None

    @property
    def looks_since_valid(self) -> int:
        """How many looks in a row said that it is not valid any more."""
        return sum(1 for row in reversed(self.history[_last_valid(self.history) + 1 :]))

    def is_due(self, now: datetime) -> bool:
        """Whether it is to be judged: never yet, or long enough after an attempt that said nothing of it."""
        last = self.last
        if last is None:
            return True
        if self.retired_at:  # it has second looks, which go by other runs
            return False
        return self.failed_by_us or (last.reason in NOT_ITS_FAULT and now >= last.validated_at + pause(self.attempts))

    def is_due_again(self, now: datetime) -> bool:
        """Whether a retired instance is to have another look."""
        last = self.last
        if last is None or not self.retired_at:
            return False
        return self.failed_by_us or now >= last.validated_at + pause(self.looks_since_valid)

    def waiting_since(self) -> datetime:
        """When it was tried last, or where it never was, when it came up."""
        return self.last.validated_at if self.last else (self.instance.created_at or datetime.min.replace(tzinfo=UTC))

    def seen_since(self, moment: datetime) -> bool:
        """Whether anything was learnt of it since then."""
        return any(row.validated_at > moment and row.reason is not InvalidReason.INFRASTRUCTURE for row in self.history)

    @property
    def failed_by_us(self) -> bool:
        """Whether it was left by a failure of ours, and not too often: the same command makes up for it, at once."""
        return 0 < sum(1 for _ in _trailing(self.history, (InvalidReason.INFRASTRUCTURE,))) < TRIES


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts in vain: 25 days, 50, 100, 200, then 360."""
    doubled = timedelta(days=FIRST_BREAK.days << min(max(attempts - 1, 0), 5))
    return min(doubled, LONGEST_BREAK)


def records(instances: Iterable[TaskInstance], judged: Iterable[Validation]) -> tuple[Record, ...]:
    """One for each instance, in their order."""
    rows: Mapping[InstanceKey, list[Validation]] = defaultdict(list)
    for row in sorted(judged, key=lambda row: row.validated_at):
        rows[row.instance_key].append(row)
    return tuple(Record(instance=one, history=tuple(rows.get(one.instance_key, ()))) for one in instances)


def turn(
    known: Iterable[Record], now: datetime, limit: int | None, month: Iterable[MonthTurn] = ()
) -> tuple[TaskInstance, ...]:
    """The instances to judge, at most `limit` of each repository; one of each repository after the other, so that a
    budget that ends in the middle has been fair.

    What was chosen for this `month` before has places of the limit. The rest of it comes first.
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
    """Newest first; every third place, counted over all months, for who waits longest."""
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
    """Of the valid ones the share whose last look is longest ago, and all retired ones whose time has come.

    Where this `month` was chosen before, those of it that nobody has looked at since.
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
    """The chance that a case which fails in a share `rate` of all runs has failed at least once in so many runs."""
    return float(1 - (1 - rate) ** runs)


def _last_look(record: Record) -> tuple[datetime, str]:
    return record.waiting_since(), record.instance.instance_id


def _age(instance: TaskInstance) -> tuple[datetime, int, str]:
    """By the number where the dates are equal: histories that are told from git have one date for all."""
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
