"""A process that is killed, a full disk, many callers at once: nothing is paid twice, no row is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue
from random import Random
from threading import Lock

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work

from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.llm.records.reply_cache import UNDER_WAY, open_archive
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.adapters.store.files.disk import LocalDisk
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import StoreError
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

HERE = Path(__file__).parent
NURSERY = """
import os, signal, sys, time
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
import openai
from llm_bench import Bench, MODEL, ask, work
from tasks.adapters.clock import SystemClock

def sweep(out):
    board = Bench(Path(sys.argv[3]), None, sys.argv[4], clock=SystemClock()).board()
    board.recover()
    for number in range(24):
        board.model(MODEL, work(f"m{number % 3}")).complete(ask(f"q{number}"))
        os.write(out, b".")

for life in range(9):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        sweep(write)
        os._exit(0)
    os.close(write)
    if life < 8:
        for _ in range(2 + life % 2):
            os.read(read, 1)
        time.sleep(0.006 * life)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    print(life, status, flush=True)
"""


def echo(call: ClientRequest) -> Step:
    return text_step(f"a{call.messages[-1].text}", prompt=1000, completion=0)


@pytest.mark.slow
def test_killed_at_any_moment(bench: Benches) -> None:
    """Eight processes are killed at eight moments; the ninth finishes. The provider's books say what was paid."""
    made = bench(lambda call: replace(echo(call), wait_s=0.03))
    argv = [sys.executable, "-c", NURSERY, str(HERE), str(HERE.parents[2]), str(made.folder), made.base_url]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:9] == [*(f"{life} 9" for life in range(8)), "8 0"], done.stderr
    asked = Counter(served.spoken.messages[-1].text for served in made.provider.books)
    unknown = made.rows(status=CallStatus.UNKNOWN)
    answered = made.rows(status=CallStatus.ANSWERED)
    assert len(answered) == len({row.call_key for row in answered}) == len(asked) == 24
    # Paid more often than once only where a kill hit a call under way, and then a row says that nobody knows.
    assert sum(asked.values()) - 24 <= len(unknown) <= 8
    assert all(row.cost_usd is None for row in unknown)
    assert made.under_way == []


VICTIM = """
import sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from llm_bench import Bench, MODEL, ask, work

Bench(Path(sys.argv[3]), None, sys.argv[4], store_name=sys.argv[5]).board().model(MODEL, work()).complete(ask("hi"))
"""


@pytest.mark.slow
def test_a_killed_call_belongs_to_the_store_that_paid(bench: Benches) -> None:
    """Two stores share a cache; a process of each is killed between sending and the answer to one and the same call."""
    asked: Queue[str] = Queue()
    slow = [True]

    def script(call: ClientRequest) -> Step:
        asked.put(call.messages[-1].text)
        return replace(echo(call), wait_s=2.0 if slow else 0.0)

    first = bench(script)
    second = replace(first, store_name="second")
    for made in (first, second):
        argv = [sys.executable, "-c", VICTIM, str(HERE), str(HERE.parents[2]), str(made.folder), made.base_url]
        with subprocess.Popen([*argv, made.store_name]) as victim:
            asked.get(timeout=60)
            victim.kill()
        assert victim.returncode == -9
    slow.clear()
    assert second.board().recover() == 1
    assert (first.rows(), [row.status for row in second.rows()]) == ((), [CallStatus.UNKNOWN])
    assert second.board().model(MODEL, work()).complete(ask("hi")).text == "ahi"
    assert first.board().recover() == 1
    assert [row.status for row in first.rows()] == [CallStatus.UNKNOWN]
    assert Counter(row.status for row in second.rows()) == {CallStatus.UNKNOWN: 1, CallStatus.ANSWERED: 1}
    assert first.under_way == []


def test_a_kept_reply_has_its_row_whatever_another_store_asks_meanwhile(bench: Benches) -> None:
    """Killed between keeping a reply and writing its row; then another store makes the same call."""
    made = bench(echo)
    store = made.store
    store.disk = Interrupting(made.folder / "store", "llm_call/", True)
    with pytest.raises(KeyboardInterrupt):
        made.board(archive=open_archive(store, made.folder / "cache")).model(MODEL, work()).complete(ask("hi"))
    replace(made, store_name="second").board().model(MODEL, work()).complete(ask("hi"))
    assert made.board().model(MODEL, work()).complete(ask("hi")).cached
    assert [row.status for row in made.rows()] == [CallStatus.ANSWERED]


class Unforeseen:
    """A wire with a defect of ours that shows only when the answer is there."""

    def __init__(self, real: OpenAIWire) -> None:
        self.real = real

    def send(self, request: ModelRequest, card: ModelCard) -> Reply:
        self.real.send(request, card)
        raise ZeroDivisionError

    def close(self) -> None:
        self.real.close()


def test_a_paid_call_has_a_row_whatever_goes_wrong_after_it(bench: Benches) -> None:
    made = bench(echo)
    with pytest.raises(ZeroDivisionError):
        made.board(wires={"p": Unforeseen(made.wire())}).model(MODEL, work()).complete(ask("hi"))
    assert [row.status for row in made.rows()] == [CallStatus.UNKNOWN]
    assert (len(made.provider.books), made.under_way) == (1, [])


@dataclass(frozen=True, slots=True)
class FullDisk(LocalDisk):
    """A disk on which some paths cannot be written."""

    full: Callable[[str], bool]

    def write(self, path: str, data: bytes) -> None:
        if self.full(path):
            raise OSError(28, "No space left on device")
        super(FullDisk, self).write(path, data)


@pytest.mark.parametrize("what", ["replies/", "llm_call/"])
def test_a_full_disk_loses_no_paid_reply(bench: Benches, what: str) -> None:
    made = bench(echo)
    full = Store(str(made.folder / "store"))
    full.disk = FullDisk(made.folder / "store", lambda path: path.startswith(what))
    board = made.board(archive=open_archive(full, made.folder / "cache"))
    with pytest.raises(StoreError, match="could not be stored"):
        board.model(MODEL, work()).complete(ask("hi"))
    assert made.rows() == ()
    later = made.board()
    assert later.recover() == 1
    assert later.model(MODEL, work()).complete(ask("hi")).cached
    assert [row.status for row in made.rows()] == [CallStatus.ANSWERED]
    assert len(made.provider.books) == 1


@pytest.mark.skipif(not os.path.ismount("/sys"), reason="no /sys, which takes no files from anybody, is mounted here")
def test_without_room_nothing_is_asked(bench: Benches) -> None:
    made = bench(echo)
    (made.folder / "store").mkdir()
    (made.folder / "store" / UNDER_WAY).symlink_to("/sys")  # takes no files, not even from root
    with pytest.raises((StoreError, OSError)):
        made.board().model(MODEL, work()).complete(ask("hi"))
    assert made.provider.books == []


def test_many_callers_of_one_content_pay_once(bench: Benches) -> None:
    made = bench(lambda call: replace(echo(call), wait_s=0.2))
    boards = [made.board() for _ in range(3)]  # three processes, as far as locks are concerned

    def call(number: int) -> bool:
        return boards[number % 3].model(MODEL, work(f"m{number}")).complete(ask("hi")).cached

    with ThreadPoolExecutor(9) as pool:
        cached = list(pool.map(call, range(9)))
    assert (cached.count(False), len(made.provider.books)) == (1, 1)
    assert Counter(row.status for row in made.rows()) == {CallStatus.ANSWERED: 1, CallStatus.REPLAYED: 8}


def test_what_a_dead_process_left_without_sending_is_nothing(bench: Benches) -> None:
    made = bench(echo)
    folder = made.folder / "store" / UNDER_WAY
    folder.mkdir(parents=True)
    (folder / "abc.json").write_text("")  # killed while it was marked
    (folder / "abc.room").write_bytes(bytes(100))
    (folder / ".abc.json.0a1b2c3d.tmp").write_text("{")
    (folder / "abd.room").write_bytes(bytes(100))  # killed before it was marked
    assert made.board().recover() == 1
    assert (made.rows(), list(folder.iterdir())) == ((), [])


@dataclass(frozen=True, slots=True)
class Interrupting(LocalDisk):
    """A disk at whose write of some path the process is interrupted, as if it had been killed there."""

    at: str
    before: bool

    def write(self, path: str, data: bytes) -> None:
        if not (path.startswith(self.at) and self.before):
            super(Interrupting, self).write(path, data)
        if path.startswith(self.at):
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.NONE, Fault.SERVER, Fault.CUT])
@pytest.mark.parametrize("at", ["replies/", "llm_call/"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("recovered", [True, False])
def test_between_any_two_writes(bench: Benches, fault: Fault, at: str, before: bool, recovered: bool) -> None:
    """Whether the next process settles everything first or just asks again: each attempt has one row."""
    made = bench(
        [replace(text_step("hello", prompt=10, completion=1), fault=fault), text_step("hello"), text_step("hello")]
    )
    store = Store(str(made.folder / "store"))
    store.disk = Interrupting(made.folder / "store", at, before)
    board = made.board(archive=open_archive(store, made.folder / "cache"))
    with pytest.raises(KeyboardInterrupt):
        board.model(MODEL, work()).complete(ask("hi"))
    later = made.board()
    if recovered:
        later.recover()
    assert later.model(MODEL, work()).complete(ask("hi")).text == "hello"
    attempts = [row.status for row in made.rows()]
    assert attempts.count(CallStatus.ANSWERED) == 1
    assert len(attempts) == len(made.provider.books)
    assert made.under_way == []


FAULTS = (
    *(
        Fault.NONE,
        Fault.RATE_LIMIT,
        Fault.SERVER,
        Fault.OVERLOADED,
        Fault.HANG_UP,
        Fault.CUT,
        Fault.GARBAGE,
        Fault.HTML,
    ),
    *(Fault.WRONG_TYPE, Fault.NO_USAGE, Fault.BAD_GATEWAY, Fault.UNAVAILABLE),
)
"""Faults that pass; what lasts, or ends an account, is in the table of faults (test_fault_table.py)."""


class Weather:
    """Faults at random, from a seed; every third answer or so is whole."""

    def __init__(self, seed: int) -> None:
        self.random, self.lock = Random(seed), Lock()

    def __call__(self, call: ClientRequest) -> Step:
        with self.lock:
            fault = self.random.choice(FAULTS) if self.random.random() < 0.6 else Fault.NONE
            prompt, completion = self.random.randrange(2000), self.random.randrange(500)
        retry = 3.0 if fault is Fault.RATE_LIMIT else None
        usage = Usage(prompt=prompt, completion=completion, cached=prompt // 2)
        return Step(reply=Reply(text=f"a{call.messages[-1].text}", usage=usage), fault=fault, retry_after_s=retry)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_hundreds_of_calls_in_bad_weather(bench: Benches, seed: int) -> None:
    """150 calls of 50 works by 6 threads, until each has its reply: our rows against the provider's books."""
    made = bench(Weather(seed))
    board = made.board()

    def do(number: int) -> None:
        """A sweep's way: what failed for the provider's reasons is done again later."""
        for _ in range(40):
            try:
                model = board.model(MODEL, work(f"m{number}"))
                for question in ("a", "b", "shared"):
                    asked = "shared" if question == "shared" else f"{question}{number}"
                    assert model.complete(ask(asked)).text == f"a{asked}"
                return
            except ProviderFailed:
                continue
        raise AssertionError("forty times in a row")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(do, range(50)))
    books, rows = made.provider.books, made.rows()
    by_status = Counter(row.status for row in rows)
    assert by_status[CallStatus.ANSWERED] == 101
    assert by_status[CallStatus.REPLAYED] == 49
    assert len(rows) - 49 == len(books)  # one row for every request that the provider saw, and no other
    assert len({(row.work_id, row.call_key) for row in rows if row.status in ("answered", "replayed")}) == 150
    _hold_costs(made)
    charged_and_lost = [served for served in books if served.charged and not served.delivered]
    # Six threads share a clock that moves when one sleeps, so a server's error in another thread may look late.
    late = len([row for row in made.rows(status=CallStatus.CUT) if row.error.startswith("server: ")])
    assert by_status[CallStatus.CUT] == len(charged_and_lost) + _count(made, Fault.HANG_UP) + late
    assert all(row.cost_usd is None for row in made.rows(status=CallStatus.CUT))
    assert board.recover() == 0


def _hold_costs(made: Bench) -> None:
    """Dollars spent are the provider's own sum over the replies that it delivered, where it told the tokens."""
    told = [served.usage for served in made.provider.books if served.delivered and served.fault is not Fault.NO_USAGE]
    cost = sum(
        ((one.prompt or 0) - (one.cached or 0) + 0.5 * (one.cached or 0) + 2 * (one.completion or 0)) / 1e6
        for one in told
    )
    answered = made.rows(status=CallStatus.ANSWERED)
    assert sum(row.cost_usd or 0 for row in answered) == pytest.approx(cost)
    assert sum(row.cost_usd is None for row in answered) == _count(made, Fault.NO_USAGE)


def _count(made: Bench, fault: Fault) -> int:
    return sum(served.fault is fault for served in made.provider.books)
