"""Whose turn it is: nobody starves, nothing broken is tried every month, and one flaky look is not for good."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from domain_rows import task_instance, validation_row

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, InstanceKey, RepoName, SnapshotName
from tasks.domain.validation import InvalidReason, MonthTurn, Validation
from tasks.validate.schedule import TRIES, Record, power, records, to_look_at, turn

START = datetime(2026, 1, 1, 3, tzinfo=UTC)
MONTH = timedelta(days=30)


def instance(number: int, repo: str = "a/b") -> TaskInstance:
    name = f"{repo.replace('/', '__')}-{number}"
    return task_instance(
        repo=RepoName(repo),
        instance_id=InstanceId(name),
        instance_key=InstanceKey(name),
        created_at=START + timedelta(days=number),
    )


def judged(one: TaskInstance, reason: InvalidReason, at: datetime) -> Validation:
    return validation_row(one, reason, validated_at=at)


def numbers(chosen: tuple[TaskInstance, ...]) -> list[int]:
    return [int(one.instance_id.rpartition("-")[2]) for one in chosen]


def test_a_limit_does_not_take_the_same_broken_instances_every_month() -> None:
    """Ten instances of which the newest three can never be installed, two a month: after a year all were tried."""
    pool = [instance(number) for number in range(10)]
    rows: list[Validation] = []
    tried: dict[int, int] = {}
    for month in range(12):
        now = START + 10 * MONTH + month * MONTH
        for one in turn(records(pool, rows), now, 2):
            (number,) = numbers((one,))
            tried[number] = tried.get(number, 0) + 1
            rows.append(judged(one, InvalidReason.INSTALL_ERROR if number > 6 else InvalidReason.NONE, now))
    assert sorted(tried) == list(range(10))
    assert {tried[number] for number in range(7)} == {1}
    assert all(2 <= tried[number] <= 4 for number in (7, 8, 9)), "after 25, 50, 100 and 200 days"


def test_the_newest_come_first_and_every_third_place_is_for_the_oldest() -> None:
    pool = [instance(number) for number in range(6)]
    assert numbers(turn(records(pool, []), START, None)) == [5, 4, 0, 3, 2, 1]
    assert numbers(turn(records(pool, []), START, 3)) == [5, 4, 0]


def test_places_are_counted_over_the_months() -> None:
    """With one place a month the oldest would never come, if counting began anew each time."""
    pool = [instance(number) for number in range(4)]
    rows: list[Validation] = []
    order = []
    for month in range(4):
        (one,) = turn(records(pool, rows), START + month * MONTH, 1)
        order += numbers((one,))
        rows.append(judged(one, InvalidReason.NONE, START + month * MONTH))
    assert order == [3, 2, 0, 1]


def test_repositories_take_turns() -> None:
    pool = [instance(1, "a/b"), instance(2, "a/b"), instance(1, "c/d")]
    assert [one.repo for one in turn(records(pool, []), START, None)] == ["a/b", "c/d", "a/b"]


@pytest.mark.parametrize(
    ("attempts", "days", "due"),
    [(1, 24, False), (1, 25, True), (2, 49, False), (2, 50, True), (4, 199, False), (9, 359, False), (9, 360, True)],
)
def test_breaks_double(attempts: int, days: int, due: bool) -> None:
    one = instance(1)
    rows = [judged(one, InvalidReason.RUNTIME_ERROR, START + timedelta(days=n)) for n in range(-attempts + 1, 1)]
    (record,) = records([one], rows)
    assert record.attempts == attempts
    assert record.is_due(START + timedelta(days=days)) is due


def test_a_failure_of_ours_is_made_up_for_at_once_but_not_for_ever() -> None:
    one = instance(1)
    rows: list[Validation] = []
    for hour in range(TRIES):
        assert records([one], rows)[0].is_due(START + timedelta(hours=hour))
        rows.append(judged(one, InvalidReason.INFRASTRUCTURE, START + timedelta(hours=hour)))
    (record,) = records([one], rows)
    assert record.attempts == 1, "of one day"
    assert not record.is_due(START + timedelta(days=20))
    assert record.is_due(START + MONTH)


def test_a_failure_of_ours_in_a_month_gives_its_place_to_nobody_else() -> None:
    pool = [instance(number) for number in range(3)]
    once = chosen([pool[2]], START)
    rows: list[Validation] = []
    for hour in range(1, TRIES + 1):
        assert numbers(turn(records(pool, rows), START + timedelta(hours=hour), 1, once)) == [2]
        rows.append(judged(pool[2], InvalidReason.INFRASTRUCTURE, START + timedelta(hours=hour)))
    assert turn(records(pool, rows), START + timedelta(hours=9), 1, once) == ()


def test_what_was_retired_by_one_look_has_another() -> None:
    one = instance(1)
    rows = [judged(one, InvalidReason.NONE, START), judged(one, InvalidReason.FLAKY, START + MONTH)]
    (record,) = records([one], rows)
    assert to_look_at([record], 0.0, START + MONTH + timedelta(days=20)) == ()
    assert numbers(to_look_at([record], 0.0, START + 2 * MONTH)) == [1]
    assert turn([record], START + 9 * MONTH, None) == (), "nothing new is to be learnt from the ground up"
    failed = [*rows, judged(one, InvalidReason.INFRASTRUCTURE, START + 2 * MONTH)]
    (record,) = records([one], failed)
    assert record.retired_at == START + MONTH, "a look that failed by us says nothing"
    assert numbers(to_look_at([record], 0.0, START + 2 * MONTH)) == [1], "and is made up for at once"
    assert turn([record], START + 9 * MONTH, None) == ()
    never = records([one], [judged(one, InvalidReason.FLAKY, START)])
    assert to_look_at(never, 1.0, START + 9 * MONTH) == ()


def test_a_share_of_the_old_ones_is_looked_at_and_within_its_time_all_are() -> None:
    pool = [instance(number) for number in range(10)]
    rows = [judged(one, InvalidReason.NONE, START) for one in pool]
    seen: list[int] = []
    for month in range(1, 5):
        now = START + month * MONTH
        looked = to_look_at(records(pool, rows), 0.25, now)
        assert len(looked) == 3
        seen += numbers(looked)
        rows += [judged(one, InvalidReason.NONE, now) for one in looked]
    assert set(seen) == set(range(10))


def chosen(instances: Iterable[TaskInstance], at: datetime, *, look: bool = False) -> list[MonthTurn]:
    return [
        MonthTurn(
            snapshot=SnapshotName("2026-01"),
            instance_key=one.instance_key,
            instance_id=one.instance_id,
            look=look,
            chosen_at=at,
        )
        for one in instances
    ]


def test_a_month_that_was_killed_takes_no_others_in_place_of_what_it_has_judged() -> None:
    pool = [instance(number) for number in range(6)]
    month = chosen(turn(records(pool, []), START, 3), START)
    rows = [judged(pool[5], InvalidReason.NONE, START), judged(pool[4], InvalidReason.INFRASTRUCTURE, START)]
    assert sorted(numbers(turn(records(pool, rows), START, 3, month))) == [0, 4], "our own failure is made up for"
    assert turn(records(pool, [judged(one, InvalidReason.NO_F2P, START) for one in pool]), START, 3, month) == ()
    assert len(turn(records(pool, rows), START, 4, month)) == 3, "a greater limit is worth one more"
    assert len(turn(records(pool, rows), START, 2, month)) == 2, "what was chosen stands"
    assert len(turn(records(pool, rows), START, None, month)) == 5
    other = [instance(number, "c/d") for number in range(4)]
    assert len(turn(records([*pool, *other], rows), START, 3, month)) == 2 + 3, "each repository has places of its own"


def test_a_month_that_was_killed_looks_at_no_others_and_at_nothing_twice() -> None:
    pool = [instance(number) for number in range(8)]
    rows = [judged(one, InvalidReason.NONE, START) for one in pool[:6]]
    now, later = START + MONTH, START + MONTH + timedelta(hours=1)
    looks = to_look_at(records(pool, rows), 0.5, now)
    month = chosen(looks, now, look=True) + chosen(pool[6:], now)
    rows += [judged(one, InvalidReason.NONE, later) for one in (looks[0], *pool[6:])]
    rows.append(judged(looks[1], InvalidReason.INFRASTRUCTURE, later))
    assert to_look_at(records(pool, rows), 0.5, later, month) == looks[1:]
    assert to_look_at(records(pool, rows), 0.5, later, chosen(pool[6:], now)) == (), "it had none to look at"


def test_the_power_of_looking() -> None:
    assert power(0.05, 1) == pytest.approx(0.05)
    assert power(0.05, 14) == pytest.approx(0.512, abs=0.001)


def test_what_cannot_be_installed_any_more_is_not_retired() -> None:
    one = instance(1)
    rows = [judged(one, InvalidReason.NONE, START), judged(one, InvalidReason.INSTALL_ERROR, START + MONTH)]
    (record,) = records([one], rows)
    assert isinstance(record, Record)
    assert record.retired_at is None
    assert record.is_due(START + 2 * MONTH)
