"""Nothing passes a ceiling: no calls in flight together, no provider that tells no usage, no attempt that is cut."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work

from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.errors import BudgetExhausted, ModelError
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.llm.router_factory import spent_by
from tasks.adapters.store.files.disk import LocalDisk
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

TOLD = [Fault.NONE, Fault.NO_USAGE]


def full_reply(fault: Fault) -> Callable[[ClientRequest], Step]:
    """40 tokens in and as many out as there may be: 0.00024 dollars where the limit is 100."""
    usage = Usage(prompt=40, completion=100)
    return lambda _: Step(reply=Reply(text="x", usage=usage), fault=fault, wait_s=0.05)


def charged(made: Bench) -> float:
    """Dollars in the provider's own books."""
    usages = [served.usage for served in made.provider.books if served.charged]
    return sum((one.prompt or 0) + 2 * (one.completion or 0) for one in usages) / 1e6


@pytest.mark.parametrize("fault", TOLD)
@pytest.mark.parametrize("usd", [0.0002, 0.001, 0.002])
def test_four_in_flight(bench: Benches, fault: Fault, usd: float) -> None:
    made = bench(full_reply(fault))
    board, meter = made.board(), Meter("sweep s", Budget(usd=usd))

    def refused(number: int) -> str:
        try:
            model = board.model(MODEL, work(f"m{number}", sweep="s"), meters=[meter])
            model.complete(ask(f"q{number}", max_tokens=100))
        except BudgetExhausted as error:
            return error.what
        return ""

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(refused, range(12)))
    assert charged(made) <= usd
    assert set(found) - {""} == {"usd"}
    assert found.count("") == len(made.provider.books) == len(made.rows())
    spent = meter.spent
    assert (spent.calls, spent.booked_usd <= usd) == (len(made.provider.books), True)
    if fault is Fault.NONE:  # what was set aside for a call and not needed is there for others
        assert spent.booked_usd == pytest.approx(charged(made))
        bound = made.rows()[0].estimate_usd if made.rows() else 0.0005
        assert usd - charged(made) < (bound or 0.0)


@pytest.mark.parametrize("fault", TOLD)
def test_what_was_spent_before_counts(bench: Benches, fault: Fault) -> None:
    """The next process of a sweep books what stayed unknown as the first did."""
    made = bench(full_reply(fault))
    meter = Meter("sweep s", Budget(usd=1.0))
    made.board().model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("1", max_tokens=100))
    [row] = made.rows()
    later = spent_by(made.store, "s")
    assert later.booked_usd == pytest.approx(meter.spent.booked_usd)
    assert later.booked_usd == pytest.approx(row.estimate_usd if fault is Fault.NO_USAGE else row.cost_usd)
    assert 0.00024 <= (row.estimate_usd or 0.0) < 0.001
    assert (row.cost_usd is None) == (fault is Fault.NO_USAGE)


@dataclass(frozen=True, slots=True)
class Watching(LocalDisk):
    """A disk that looks at something before it keeps a reply."""

    look: Callable[[], None]

    def write(self, path: str, data: bytes) -> None:
        if path.startswith("replies/"):
            self.look()
        super(Watching, self).write(path, data)


def test_what_a_call_may_cost_is_set_aside_until_its_reply_is_kept(bench: Benches) -> None:
    """A kill in between leaves a row that says `unknown`, which is booked at all of it."""
    made, meter, room = bench(full_reply(Fault.NONE)), Meter("sweep s", Budget(usd=0.001)), list[bool]()

    def look() -> None:
        with meter.admitted_now(CostBound(tokens=1, usd=0.0007)) as place:
            room.append(place is not None)

    store = Store(str(made.folder / "store"))
    store.disk = Watching(made.folder / "store", look)
    board = made.board(archive=open_archive(store, made.folder / "cache"))
    board.model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("1", max_tokens=100))
    look()
    assert room == [False, True]


def test_a_cut_attempt_is_booked_before_the_next(bench: Benches) -> None:
    made = bench([Step(fault=Fault.CUT)] * 9)
    meter = Meter("sweep s", Budget(usd=0.001))
    with pytest.raises(BudgetExhausted) as caught:
        made.board().model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("1", max_tokens=100))
    rows = made.rows()
    assert {row.status for row in rows} == {CallStatus.CUT}
    assert sum(row.estimate_usd or 0.0 for row in rows) <= 0.001
    assert len(rows) == len(made.provider.books) < 4
    assert "the next call may take" in str(caught.value)


def test_what_a_provider_refused_is_given_back(bench: Benches) -> None:
    made = bench([Step(fault=Fault.SERVER), Step(fault=Fault.FILTER), text_step("a", prompt=40, completion=10)])
    meter = Meter("sweep s", Budget(usd=0.0009))
    model = made.board().model(MODEL, work(sweep="s"), meters=[meter])
    with pytest.raises(ModelError):
        model.complete(ask("1", max_tokens=100))
    assert model.complete(ask("2", max_tokens=100)).text == "a"
    assert meter.spent.booked_usd == pytest.approx(0.00006)


def test_a_server_error_after_a_long_time_may_be_paid_for(bench: Benches) -> None:
    """A 504 of a proxy after minutes of generation was booked at nothing."""
    made: Bench
    waits = iter([0.0, 300.0])

    def fail(_: ClientRequest) -> Step:
        if (wait := next(waits, None)) is None:
            return text_step("a", prompt=40, completion=10)
        made.clock.sleep(wait)
        return Step(fault=Fault.SERVER)

    made = bench(fail)
    meter = Meter("sweep s", Budget(usd=1.0))
    assert made.board().model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("1", max_tokens=100)).text == "a"
    failed, late, answered = sorted(made.rows(), key=lambda row: row.attempt)
    assert [row.status for row in (failed, late)] == [CallStatus.FAILED, CallStatus.CUT]
    assert (failed.cost_usd, late.cost_usd) == (0.0, None)
    assert meter.spent.booked_usd == pytest.approx((late.estimate_usd or 0.0) + (answered.cost_usd or 0.0))


def test_without_a_limit_a_call_is_taken_for_the_longest_that_the_model_can_make(bench: Benches) -> None:
    made = bench([text_step("a")])
    board = made.board()
    meter = Meter("sweep s", Budget(usd=0.0160))  # 8,192 tokens cost 0.0164
    with pytest.raises(BudgetExhausted):
        board.model(MODEL, work(sweep="s"), meters=[meter]).complete(ask("1"))
    assert made.provider.books == []
    roomy = replace(meter, budget=Budget(usd=0.0200))
    assert board.model(MODEL, work(sweep="s"), meters=[roomy]).complete(ask("1")).text == "a"
