"""Rate limits: for all processes together, in the order of their calls. On both backends, by the clock of the test."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from coordination_bench import Backend
from llm_bench import MODEL, MODELS, Benches, TestClock, ask, work

from tasks.adapters.coordination.sqlite import LocalCoordinator
from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.llm.limits.rate_limit import MinuteLimit, RateLimiter
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step

FIVE = (MinuteLimit(name="provider p", requests=5),)
THOUSAND = (MinuteLimit(name="model m", tokens=1000),)


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def two(backend: Backend, clock: TestClock) -> tuple[RateLimiter, RateLimiter]:
    """Two processes."""
    one, other = (RateLimiter(backend.open(clock), clock) for _ in range(2))
    return one, other


@pytest.mark.parametrize(("calls", "seconds"), [(5, 0.0), (6, 60.0), (11, 120.0), (23, 240.0)])
def test_never_more_calls_in_a_minute(
    two: tuple[RateLimiter, RateLimiter], clock: TestClock, calls: int, seconds: float
) -> None:
    for number in range(calls):
        two[number % 2].wait(FIVE, 10)
    assert clock.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("tokens", "begun"),
    [
        ((400, 400, 400), [0, 0, 60]),
        ((500, 500, 1), [0, 0, 60]),
        ((900, 200, 100, 700, 1), [0, 60, 60, 60, 120]),
        ((1500, 1), [0, 60]),
        ((1, 1500, 1), [0, 60, 120]),
    ],
)
def test_never_more_tokens_in_a_minute(
    two: tuple[RateLimiter, RateLimiter], clock: TestClock, tokens: tuple[int, ...], begun: list[int]
) -> None:
    """A call that is larger than the limit goes alone."""
    found = []
    for number, one in enumerate(tokens):
        two[number % 2].wait(THOUSAND, one)
        found.append(clock.seconds)
    assert found == pytest.approx(begun)


def test_what_a_call_came_to_counts_and_not_what_it_might_have(
    two: tuple[RateLimiter, RateLimiter], clock: TestClock
) -> None:
    calls = [two[0].wait(THOUSAND, 500) for _ in range(2)]
    two[0].settle(THOUSAND, calls[0], 100)
    two[0].settle(THOUSAND, calls[1], None)
    two[1].wait(THOUSAND, 400)
    assert clock.seconds == 0
    two[1].wait(THOUSAND, 1)
    assert clock.seconds == pytest.approx(60)


def test_a_call_counts_from_when_it_began(two: tuple[RateLimiter, RateLimiter], clock: TestClock) -> None:
    call = two[0].wait(THOUSAND, 900)
    clock.sleep(30)
    two[0].begin(THOUSAND, call)
    two[1].wait(THOUSAND, 900)
    assert clock.seconds == pytest.approx(90)


def test_a_reply_is_not_lost_with_a_damaged_file(tmp_path: Path, clock: TestClock) -> None:
    limiter = RateLimiter(LocalCoordinator(tmp_path, clock), clock)
    call = limiter.wait(THOUSAND, 900)
    (tmp_path / "rows.sqlite").write_bytes(b"no rows" * 100)
    limiter.settle(THOUSAND, call, 10)
    limiter.pause("p", 10)
    assert limiter.paused_for("p") == 0.0
    with pytest.raises(sqlite3.DatabaseError):
        limiter.wait(THOUSAND, 10)


class Meeting(TestClock):
    """A clock whose first sleeper meets somebody."""

    met: Callable[[], object] | None = None

    def sleep(self, seconds: float) -> None:
        met, self.met = self.met, None
        if met:
            met()
        super().sleep(seconds)


def test_a_small_call_does_not_pass_a_large_one_that_waits(backend: Backend) -> None:
    clock = Meeting()
    large, small = (RateLimiter(backend.open(clock), clock) for _ in range(2))
    began: list[float] = []
    large.wait(THOUSAND, 900)

    def meet() -> None:
        small.wait(THOUSAND, 10)
        began.append(clock.seconds)

    clock.met = meet
    large.wait(THOUSAND, 900)
    assert began == pytest.approx([60]), "there was room for it at 0"


class Killed(Exception):
    """In place of the end of a process."""


class Mortal(TestClock):
    """A clock with which nobody sleeps twice."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        raise Killed


def test_one_that_died_while_it_waited_holds_nobody_up_for_longer_than_its_minute(
    two: tuple[RateLimiter, RateLimiter], clock: TestClock
) -> None:
    two[0].wait(THOUSAND, 900)
    with pytest.raises(Killed):
        RateLimiter(two[0].coordinator, Mortal()).wait(THOUSAND, 900)
    two[1].wait(THOUSAND, 900)
    assert clock.seconds == pytest.approx(120)


def test_a_pause_that_a_provider_asks_for_is_kept_by_all_processes(bench: Benches) -> None:
    """In one of two that share a cache a provider asked for 90 seconds; the other does not ask it meanwhile."""
    made = bench([Step(fault=Fault.RATE_LIMIT, retry_after_s=90.0), Step(), Step()])
    first, second = made.board(patience=CallRetries(attempts=1)), made.board()
    with pytest.raises(ProviderFailed):
        first.model(MODEL, work()).complete(ask("hi"))
    assert made.clock.seconds == 0.0
    second.model(MODEL, work()).complete(ask("hello"))
    assert made.clock.seconds == pytest.approx(90.0, abs=0.1)
    assert made.rows(status=CallStatus.ANSWERED)[0].waited_s == pytest.approx(90.0, abs=0.1)


def test_pauses_of_two_processes(two: tuple[RateLimiter, RateLimiter], clock: TestClock) -> None:
    """The longer one counts, for its provider alone."""
    one, other = two
    one.pause("p", 50.0)
    other.pause("p", 20.0)
    assert [other.paused_for("p"), one.paused_for("p"), one.paused_for("q")] == [pytest.approx(50.0)] * 2 + [0.0]
    clock.sleep(50.0)
    assert other.paused_for("p") == 0.0


def test_limits_of_provider_and_model_hold_both(tmp_path: Path) -> None:
    text = MODELS.replace('key_env = "P_KEY"', 'key_env = "P_KEY"\nrequests_per_minute = 5\ntokens_per_minute = 900')
    (tmp_path / "models.toml").write_text(text.replace('price = "m"', 'price = "m"\ntokens_per_minute = 100'))
    models = read_models(tmp_path / "models.toml")
    assert models.card("m-1").minute_limits == (
        MinuteLimit(name="provider p", requests=5, tokens=900),
        MinuteLimit(name="model m-1", tokens=100),
    )
    assert models.card("fixed").minute_limits == (MinuteLimit(name="provider p", requests=5, tokens=900),)


def test_a_sweep_waits_and_is_charged_what_it_came_to(bench: Benches, tmp_path: Path) -> None:
    """Each call may come to some 4,100 tokens and comes to 200; the third waits for the usage of none."""
    used = Step(reply=Reply(text="yes", usage=Usage(prompt=150, completion=50)))
    silent = Step(reply=Reply(text="no"), fault=Fault.NO_USAGE)
    made = bench([used, used, silent, used])
    (tmp_path / "own.toml").write_text(MODELS.replace("context = 8192", "context = 8192\ntokens_per_minute = 5000"))
    board = made.board(models=read_models(tmp_path / "own.toml"))
    model = board.model("m-1", work())
    begun = []
    for text in "abcd":
        model.complete(ask(text))
        begun.append(made.clock.seconds)
    assert begun == pytest.approx([0, 0, 0, 60])
    assert [row.waited_s for row in made.rows()] == pytest.approx([0, 0, 0, 60])


def test_a_model_that_waits_holds_no_other_up(bench: Benches, tmp_path: Path) -> None:
    """Not even where the provider takes one call at a time."""
    made = bench([Step(reply=Reply(text=text)) for text in "abc"])
    text = MODELS.replace('key_env = "P_KEY"', 'key_env = "P_KEY"\nmax_in_flight = 1')
    (tmp_path / "own.toml").write_text(text.replace('price = "m"', 'price = "m"\nrequests_per_minute = 1'))
    clock = Meeting()
    made.clock = clock
    board = made.board(models=read_models(tmp_path / "own.toml"))
    limited, free = (board.model(name, work()) for name in ("m-1", "fixed"))
    met: list[Reply] = []
    with ThreadPoolExecutor(1) as pool:
        limited.complete(ask("first"))
        clock.met = lambda: met.append(pool.submit(free.complete, ask("meanwhile")).result(timeout=10))
        limited.complete(ask("second"))
    assert [reply.text for reply in met] == ["b"]
    assert clock.seconds == pytest.approx(60)


def test_a_waiting_call_starts_when_an_earlier_one_used_less(backend: Backend) -> None:
    """It keeps its place meanwhile."""
    clock = Meeting()
    first, second = (RateLimiter(backend.open(clock), clock) for _ in range(2))
    call = first.wait(THOUSAND, 900)
    clock.met = lambda: first.settle(THOUSAND, call, 50)
    second.wait(THOUSAND, 900)
    assert clock.slept == [1.0]


def test_the_clock_is_that_of_the_backend(backend: Backend) -> None:
    """Machines may be wrong by a minute."""
    limiter, other = (RateLimiter(backend.open(), Mortal()) for _ in range(2))
    limiter.wait(THOUSAND, 900)
    with pytest.raises(Killed):
        other.wait(THOUSAND, 900)
    with other.coordinator.transaction("calls") as table:
        starts = [row["start"] - table.now for row in table.rows().values()]
    assert starts == [pytest.approx(0, abs=5), pytest.approx(60, abs=5)]


def test_a_clock_that_is_set_back_holds_nobody_up(two: tuple[RateLimiter, RateLimiter], clock: TestClock) -> None:
    """What was written by the clock of before lies an hour ahead then, and was waited for."""
    clock.seconds = 3600.0
    two[0].wait(FIVE, 10)
    two[0].pause("p", 50.0)
    clock.seconds = 0.0
    assert two[1].paused_for("p") == 0.0
    two[1].wait(FIVE, 10)
    assert clock.seconds == 0.0
    two[0].pause("p", 50.0)
    clock.seconds = 20.0
    assert two[1].paused_for("p") == pytest.approx(30.0)


def test_clocks_of_machines_that_share_a_folder_may_be_some_seconds_apart(backend: Backend) -> None:
    ahead, behind = TestClock(seconds=10.0), TestClock()
    one, other = (RateLimiter(backend.open(clock), clock) for clock in (ahead, behind))
    one.pause("p", 50.0)
    assert other.paused_for("p") == pytest.approx(60.0)
    assert one.paused_for("p") == pytest.approx(50.0)
