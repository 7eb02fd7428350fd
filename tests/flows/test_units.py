"""The joint by itself: units on threads, and the rows of what they did not do."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.engine.units import LEFT, NOTHING, Done, FlowRun, ThreadExecutor, start_flow
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import InfrastructureError, TerminalError
from tasks.domain.names import InstanceId
from tasks.domain.retrying import Retries
from tasks.domain.undone import FlowRound, OfInstance, PartialFailure, Undone

AT_ONCE = Retries(attempts=3, pause_s=0.0)
NAMES = tuple(f"owner__name-{number}" for number in range(6))
UNITS = tuple(OfInstance(snapshot="s", instance_id=InstanceId(name)) for name in NAMES)


@dataclass(frozen=True)
class Told:
    """A story that is over."""

    done: Done[OfInstance, str]
    exit_code: int
    text: str = ""


def tell(store: Store, function: Callable[[OfInstance], str], workers: int = 2) -> Told:
    def body(run: FlowRun) -> Told:
        done = run.map_task("round", function, UNITS)
        return Told(done, run.exit_code())

    return start_flow("story", "a story", store, ThreadExecutor(workers, AT_ONCE), body)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def test_what_fails_is_a_row_and_the_rest_is_done(store: Store) -> None:
    def function(unit: OfInstance) -> str:
        if unit.subject == NAMES[1]:
            raise TerminalError("over", hint="look elsewhere")
        if unit.subject == NAMES[3]:
            raise ZeroDivisionError("a bug")
        return unit.subject.upper()

    told = tell(store, function)
    assert [unit.subject for unit, _ in told.done] == [NAMES[at] for at in (0, 2, 4, 5)]
    assert told.done.by_subject[NAMES[5]] == NAMES[5].upper()
    assert told.exit_code == LEFT
    rows = {row.subject: row for row in store.read(Undone)}
    assert rows.keys() == {NAMES[1], NAMES[3]}
    over, bug = rows[NAMES[1]], rows[NAMES[3]]
    assert (over.error, over.detail, over.hint, over.attempts, over.traceback) == (
        "terminal",
        "over",
        "look elsewhere",
        1,
        "",
    )
    assert (bug.error, bug.detail, bug.may_pass, bug.attempts) == ("bug", "ZeroDivisionError: a bug", False, 1)
    assert (bug.story, bug.round, bug.scope) == ("story", "round", "s")
    with store.open_file(bug.traceback) as file:
        assert b"raise ZeroDivisionError" in file.read()
    (round_,) = store.read(FlowRound)
    assert (round_.asked, set(round_.done)) == (NAMES, {NAMES[at] for at in (0, 2, 4, 5)})


def test_what_may_pass_is_tried_again_three_times_in_all(store: Store) -> None:
    tries = dict.fromkeys(NAMES, 0)

    def function(unit: OfInstance) -> str:
        tries[unit.subject] += 1
        if (unit.subject == NAMES[0] and tries[unit.subject] < 3) or unit.subject == NAMES[1]:
            raise InfrastructureError("busy")
        return ""

    assert len(tell(store, function).done) == 5
    assert (tries[NAMES[0]], tries[NAMES[1]], tries[NAMES[2]]) == (3, 3, 1)
    (row,) = store.read(Undone)
    assert (row.subject, row.attempts, row.may_pass) == (NAMES[1], 3, True)


def test_an_interruption_ends_the_flow_and_says_what_is_not_done(store: Store) -> None:
    def function(unit: OfInstance) -> str:
        if unit.subject == NAMES[2]:
            raise KeyboardInterrupt
        return ""

    with pytest.raises(KeyboardInterrupt):
        tell(store, function, workers=1)
    assert {row.error for row in store.read(Undone)} == {"interrupted"}
    (round_,) = store.read(FlowRound)
    undone = {row.subject for row in store.read(Undone)}
    assert undone | set(round_.done) == set(NAMES)
    assert undone.isdisjoint(round_.done)
    assert NAMES[2] in undone


@dataclass(frozen=True)
class Partly:
    """A result with a part that is left."""

    left: Sequence[PartialFailure]


def test_a_part_that_is_left_is_a_row_of_its_own(store: Store) -> None:
    def body(run: FlowRun) -> Told:
        one = PartialFailure(subject="a part", error="sandbox", detail="lost", may_pass=True)
        run.map_task("round", lambda _: Partly((one,)), UNITS[:1])
        run.record_failures("taken", "s", [one])
        return Told(Done(()), run.exit_code())

    told = start_flow("story", "a story", store, ThreadExecutor(1, AT_ONCE), body)
    assert told.exit_code == LEFT
    rows = [(row.round, row.subject, row.error) for row in sorted(store.read(Undone), key=lambda row: row.round)]
    assert rows == [("round", "a part", "sandbox"), ("taken", "a part", "sandbox")]


def test_what_a_story_inside_leaves_counts_for_the_one_around_it(store: Store) -> None:
    def inner(run: FlowRun) -> Told:
        run.record_failures("taken", "s", [PartialFailure(subject="a", error="sandbox", detail="lost", may_pass=True)])
        return Told(Done(()), run.exit_code())

    def outer(run: FlowRun) -> Told:
        assert run.run_subflow("inner", "an inner story", {}, inner).exit_code == LEFT
        assert run.incomplete(own=True) == ()
        assert run.exit_code(nothing=True) == NOTHING
        return Told(Done(()), run.exit_code())

    assert start_flow("story", "a story", store, ThreadExecutor(1), outer).exit_code == LEFT
    again = start_flow("story", "a story", store, ThreadExecutor(1), lambda run: Told(Done(()), run.exit_code()))
    assert again.exit_code == 0, "rows of another flow run are not of this one"


def test_no_slow_unit_keeps_the_others_waiting(store: Store) -> None:
    """The first unit ends only after all others have: with two workers, and in the order of their ends."""
    others, ended = threading.Semaphore(0), []

    def function(unit: OfInstance) -> str:
        if unit.subject == NAMES[0]:
            for _ in NAMES[1:]:
                others.acquire()
        else:
            others.release()
        ended.append(unit.subject)
        return ""

    assert len(tell(store, function).done) == len(NAMES)
    assert ended[-1] == NAMES[0]


def test_at_most_so_many_are_under_way(store: Store) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def function(unit: OfInstance) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return ""

    tell(store, function, workers=2)
    assert most[0] <= 2


WRONG = """
from flows.engine.units import FlowRun, typed_partial
from tasks.domain.places import Places
from tasks.domain.undone import OfInstance, OfRepository
from tasks.environment.task import CheckSettings, prepare_environment

def story(run: FlowRun, places: Places, right: OfInstance, wrong: OfRepository) -> None:
    run.map_task("environments", typed_partial(prepare_environment, places, CheckSettings()), [right])
    run.map_task("environments", typed_partial(prepare_environment, places, CheckSettings()), [wrong])
    run.map_task("environments", typed_partial(prepare_environment, places, CheckSettings()), ["a name"])
    run.map_task("environments", typed_partial(prepare_environment, "a folder", CheckSettings()), [right])
"""


@pytest.mark.slow
def test_mypy_refuses_units_of_the_wrong_kind(tmp_path: Path) -> None:
    file = tmp_path / "wrong_units.py"
    file.write_text(WRONG)
    argv = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(file)]
    said = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]).stdout
    places = [line.split(":")[1] for line in said.splitlines() if "wrong_units.py" in line and "error" in line]
    assert list(dict.fromkeys(places)) == ["9", "10", "11"], said
