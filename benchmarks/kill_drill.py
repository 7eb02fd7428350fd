"""Sweeps that are killed (`kill -9`) at random moments: is everything paid for once, with a row, below the ceiling?

    python -m benchmarks.kill_drill --kills 200 --agents data/cache/agents --agent claude_code

A round is two new stores that share a cache, each with a provider and so with books of its own. In both, at the same
time, a process sweeps two instances of the demo with methods of ours and an agent of other people, four calls in
flight, and is killed at a moment that is drawn; then the next one goes on, until one comes to its end. The first of
the two has its replies streamed. Rounds take turns at: token counts told or not, and a ceiling in dollars that is ample
or ends the sweep. At the end of a round, for each store:

- every body that the provider charged for has as many rows as it was charged: one for the reply that was kept, the
  others `unknown` (a kill hit it under way). So no finished call is paid twice, and none has no row;
- what the provider charged is not above the ceiling, and with token counts not below the sum of the rows that are known
  and not above that sum and the estimates of the others.
"""

from __future__ import annotations

import multiprocessing
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.agent_shells import next_command, turn_of
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.interface.parameters import GenerateRequest
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from flows.sweep import sweep_here
from tasks.adapters.llm.catalogue.prices import read_prices
from tasks.adapters.llm.dialects.all import BY_NAME
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.records.reply_cache import open_archive
from tasks.adapters.store.rows.store import Store
from tasks.domain.llm import CallStatus, LlmCall
from tasks.rehearsal.contract import HELPFUL
from tasks.rehearsal.passing import canonical
from tasks.rehearsal.scripted_model import calling
from tasks.rehearsal.scripted_provider.script import Fault, Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step

INSTANCES = ("rolling-swt-bench__larder-3", "rolling-swt-bench__larder-7")
METHODS = ("zero_shot_plus", "libro", "agent")
CARD = """
[provider.bench]
base_url = "{url}"
dialect = "messages"
max_in_flight = 4
stream = {stream}
[model.bench]
provider = "bench"
price = "bench"
context = 200000
output = 8000
source = "the drill"
[[price]]
key = "bench"
valid_from = 2020-01-01
input = 3.0
output = 15.0
source = "the drill"
"""
AMPLE = 50.0
TIGHT = {True: 0.4, False: 2.0}
"""Dollars, where token counts are told and where they are not. The whole sweep costs less than a third of one; a call
has to set aside a tenth, with a long prompt half, and without counts that stays booked."""
LONGEST_S = 7.0
"""A life that is killed by the clock is killed within so long."""
BY_THE_CLOCK = 0.3
"""Share of the kills."""
ANSWER_S = 0.2
"""That an answer takes: slow enough for a kill to come while a call is under way."""
UNPAID = (CallStatus.UNKNOWN, CallStatus.CUT)


@dataclass(frozen=True)
class Answers:
    """Answers every method."""

    told: bool
    """Whether token counts are told."""

    def __call__(self, call: ClientRequest) -> Step:
        time.sleep(ANSWER_S)
        step = self._shell(call) if call.tools else self._text(call)
        return step if self.told else Step(reply=step.reply, fault=Fault.NO_USAGE)

    def _text(self, call: ClientRequest) -> Step:
        return text_step("```bash\nsubmit\n```\n" + HELPFUL if "Exit code:" in call.messages[-1].text else HELPFUL)

    def _shell(self, call: ClientRequest) -> Step:
        if (command := next_command(call)) is None:
            return text_step("Done.")
        return Step(reply=calling(command.name, call_id=f"t{turn_of(call)}", **command.arguments))


@dataclass
class Side:
    """One store of a round."""

    folder: Path
    cache: Path
    provider: ScriptedProvider
    ceiling: float
    methods: tuple[str, ...]
    kills: int = 0
    problems: list[str] = field(default_factory=list)
    process: ForkServerProcess | None = None

    @property
    def settings(self) -> Settings:
        return Settings(
            store=str(self.folder / "store"),
            cache=self.cache,
            database=self.folder / "swt.duckdb",
            own_models=self.folder / "own.toml",
            scratch=self.folder / "scratch",
            environ={},
            trusted=True,
            callers=4,
        )

    @property
    def request(self) -> GenerateRequest:
        return GenerateRequest(
            snapshot=SNAPSHOT,
            methods=self.methods,
            models=("bench",),
            instances=INSTANCES,
            budget_usd=self.ceiling,
        )


def live(folder: Path, request: GenerateRequest, settings: Settings) -> None:
    """One life of a sweep."""
    with (folder / "log").open("a") as log:
        sys.stdout = sys.stderr = log
        done = sweep_here(request, settings)
        print(done.text, *done.problems, sep="\n", flush=True)


def lives(side: Side, draw: random.Random, most: int) -> Iterator[None]:
    """Live, be killed, live again, to the end; a turn for each look."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flows.sweep", "openai", "typer", "tasks.rehearsal.scripted_provider.server"])
    while True:
        side.process = context.Process(target=live, args=(side.folder, side.request, side.settings))
        side.process.start()
        due = _due(side, draw) if side.kills < most else lambda: False
        while side.process.is_alive() and not due():
            yield
        if not side.process.is_alive():
            break
        side.process.kill()
        side.process.join()
        side.kills += 1
    side.process.join()
    if side.process.exitcode != 0:
        side.problems.append(f"a life that nobody killed ended with {side.process.exitcode}")


def _due(side: Side, draw: random.Random) -> Callable[[], bool]:
    """Whether it is time for a kill: at any moment, or shortly after one of the life's first calls arrived, since
    most of a life is spent without a call under way."""
    begun, books = time.monotonic(), side.provider.books
    if draw.random() < BY_THE_CLOCK:
        ends = begun + draw.uniform(0.2, LONGEST_S)
        return lambda: time.monotonic() > ends
    enough, later = len(books) + draw.randrange(1, 7), draw.uniform(0.0, 2 * ANSWER_S)
    came: list[float] = []

    def due() -> bool:
        if len(books) >= enough and not came:
            came.append(time.monotonic())
        return bool(came) and time.monotonic() > came[0] + later

    return due


def judge(side: Side) -> tuple[Counter[str], float]:
    """What is wrong is a problem of the side; its rows by status, and dollars that its provider charged."""
    store, settings = Store(side.settings.store), side.settings
    price = read_prices(settings.models / "prices.toml", settings.own_models).at("bench", datetime.now(UTC))
    rows, charged = store.read(LlmCall), [served for served in side.provider.books if served.charged]
    paid = Counter(canonical(_unstreamed(served.spoken.body)) for served in charged)
    archive = open_archive(store, side.cache)
    kept: Counter[bytes] = Counter()
    unknown: Counter[bytes] = Counter()
    lost = 0
    for row in rows:
        exchange = archive.find(row.call_key)
        body = exchange and canonical(BY_NAME[exchange.request.dialect].request_body(exchange.request))
        if row.status is CallStatus.ANSWERED and body:
            kept[body] += 1
        elif row.status in UNPAID:
            lost += body is None
            unknown.update([body] if body else [])
    over = {body: times - kept[body] - unknown[body] for body, times in paid.items()}
    if sum(many for many in over.values() if many > 0) > lost:
        side.problems.append(f"{over} charged without a row")
    if few := [body for body in kept if kept[body] > paid[body]]:
        side.problems.append(f"{len(few)} bodies with more replies than the provider gave")
    usd = sum((price and price.cost(served.usage)) or 0.0 for served in charged)
    _money(side, rows, usd)
    return Counter(row.status.value for row in rows), usd


def _unstreamed(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body without the word that its reply is to be streamed, which is no part of a request."""
    return {name: value for name, value in body.items() if name != "stream"}


def _money(side: Side, rows: tuple[LlmCall, ...], usd: float) -> None:
    if usd > side.ceiling + 1e-9:
        side.problems.append(f"{usd} dollars charged, and the ceiling is {side.ceiling}")
    paid = [row for row in rows if row.status in (CallStatus.ANSWERED, *UNPAID)]
    known = sum(row.cost_usd or 0.0 for row in paid)
    most = known + sum(row.estimate_usd or 0.0 for row in paid if row.cost_usd is None)
    if not known - 1e-9 <= usd <= most + 1e-9:
        side.problems.append(f"{usd} dollars charged, and the rows say {known} to {most}")
    if most > side.ceiling + 1e-9:
        side.problems.append(f"{most} dollars booked, and the ceiling is {side.ceiling}")


def round_of(number: int, work: Path, methods: tuple[str, ...], agents: Path | None, draw: random.Random) -> list[Side]:
    """One round; both sides, judged by nobody yet."""
    told, ceiling = number % 2 == 0, AMPLE if number % 4 < 2 else TIGHT[number % 2 == 0]
    folder = work / f"round-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    cache = folder / "cache"
    with ExitStack() as stack:
        sides = []
        for name, stream in (("one", "true"), ("other", "false")):
            provider = ScriptedProvider(Answers(told))
            url = stack.enter_context(provider.serve())
            (folder / name).mkdir(parents=True, mode=0o711)
            (folder / name / "own.toml").write_text(CARD.format(url=url, stream=stream))
            sides.append(Side(folder / name, cache, provider, ceiling, methods))
            build_demo_mirror(sides[-1].settings)
            import_rows(sides[-1].settings, DEMO / "instances.jsonl", SNAPSHOT)
        if agents:
            (cache / "agents").symlink_to(agents.resolve())
        going = [lives(side, draw, draw.randrange(3, 9)) for side in sides]
        while going:
            going = [one for one in going if next(one, True) is None]
            time.sleep(0.01)
    return sides


HEAD = "| round | tokens | ceiling | kills | charged | answered | replayed | unknown | dollars | seconds | problems |"


def main(
    work: Annotated[Path, typer.Option(help="Folder for the stores.")],
    kills: Annotated[int, typer.Option(help="Kills in all, at least.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 1,
    agents: Annotated[Path | None, typer.Option(help="Folder with installed agents.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Agents of other people.")] = None,
) -> None:
    """Print a line for each store of each round; exit code 1 where anything was wrong."""
    draw = random.Random(seed)  # noqa: S311 - moments, no secrets
    made, number, wrong = 0, 0, 0
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M}\n{HEAD}\n|{' --- |' * (HEAD.count('|') - 1)}", flush=True)
    while made < kills:
        begun = time.monotonic()
        for side in round_of(number, work, (*METHODS, *(agent or ())), agents, draw):
            rows, usd = judge(side)
            told = "told" if number % 2 == 0 else "not told"
            counts = [rows[one] for one in ("answered", "replayed", "unknown")]
            charged = sum(served.charged for served in side.provider.books)
            line = (number, told, side.ceiling, side.kills, charged, *counts, f"{usd:.4f}")
            seconds = f"{time.monotonic() - begun:.0f}"
            print("| " + " | ".join(map(str, (*line, seconds, "; ".join(side.problems) or "–"))) + " |", flush=True)
            made, wrong = made + side.kills, wrong + len(side.problems)
        if not wrong:
            shutil.rmtree(work / f"round-{number}", ignore_errors=True)
        number += 1
    print(f"{made} kills in {number} rounds of two stores, {wrong} problems")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    typer.run(main)
