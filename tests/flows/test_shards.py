"""How the instances of a flow run are cut into shards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from domain_rows import run_row, task_instance
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.events import EventPage
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.events.filters import EventFilter
from prefect.events.schemas.events import ReceivedEvent
from prefect.states import Pending, Running

from flows.deployments import Progress
from flows.engine.shards import (
    BEAT,
    TAKEN_S,
    UNKNOWN_S,
    Heartbeats,
    RunTime,
    ShardWatch,
    arranged,
    cut,
    run_times,
    seconds_of,
)
from flows.evaluate import part_of
from flows.interface.requests import EvaluationRequest, FixesRequest, SweepRequest
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import UsageError
from tasks.domain.names import InstanceId, InstanceKey, RepoName, RunKey, SuiteId

NAMES = [InstanceId(f"i{number}") for number in range(7)]


@pytest.mark.parametrize(
    ("shards", "parts"),
    [
        (1, [NAMES]),
        (2, [NAMES[:3], NAMES[3:]]),
        (100, [[name] for name in NAMES]),
    ],
)
def test_parts_are_about_equal_and_none_is_empty(shards: int, parts: list[list[str]]) -> None:
    seconds = dict.fromkeys(NAMES, 1.0)
    assert [list(part) for part in cut(dict.fromkeys(NAMES, "e"), seconds, shards)] == parts
    assert [list(part) for part in cut(dict.fromkeys(NAMES, "e"), dict.fromkeys(NAMES, 0.0), shards)] == parts


def test_an_environment_stays_together_and_what_takes_long_stays_alone() -> None:
    groups = {name: "ab"[number % 2] for number, name in enumerate(NAMES)}
    seconds = dict.fromkeys(NAMES, 3.0) | dict.fromkeys(NAMES[1::2], 4.0)
    assert cut(groups, seconds, 2) == (tuple(NAMES[::2]), tuple(NAMES[1::2]))
    long = dict.fromkeys(NAMES, 1.0) | {NAMES[0]: 1000.0}
    assert cut(dict.fromkeys(NAMES, "e"), long, 4) == ((NAMES[0],), tuple(NAMES[1:]))


def test_nothing_to_cut_is_no_part() -> None:
    assert cut({}, {}, 3) == ()


def test_an_instance_that_is_several_shards_is_cut_where_it_can_be() -> None:
    """Three of four shards are for the long one; a story that cannot cut it lets it take its time."""
    seconds = dict.fromkeys(NAMES, 1.0) | {NAMES[0]: 18.0}
    groups = dict.fromkeys(NAMES, "e")
    evaluation = EvaluationRequest(snapshot="s", candidates=("golden",))
    asked = arranged(evaluation, groups, seconds, 4)
    assert [(one.instances, one.part) for one in asked] == [
        *(((NAMES[0],), f"{which}/3") for which in (1, 2, 3)),
        (tuple(NAMES[1:]), ""),
    ]
    assert [one.instances for one in arranged(FixesRequest(snapshot="s", fixes=("f",)), groups, seconds, 4)] == [
        (NAMES[0],),
        tuple(NAMES[1:]),
    ]
    alone = arranged(evaluation, {NAMES[0]: "e"}, {NAMES[0]: 5.0}, 8)
    assert [one.part for one in alone] == [f"{which}/8" for which in range(1, 9)]
    assert arranged(evaluation, {}, {}, 3) == ()
    assert [one.part for one in arranged(evaluation, groups, dict.fromkeys(NAMES, 0.0), 2)] == ["", ""]


def test_parts_have_every_suite_once() -> None:
    suites = tuple(SuiteId(f"s{number}") for number in (3, 1, 4, 0, 2))
    asked = EvaluationRequest(snapshot="s", candidates=("golden",)).parts("i", 3)
    assert [part_of(suites, one) for one in asked] == [("s3", "s0"), ("s1", "s4"), ("s2",)]
    assert part_of(suites, EvaluationRequest(snapshot="s", candidates=())) == suites


@pytest.mark.parametrize("part", ["0/3", "4/3", "2", "a/b", "1/", "-1/2"])
def test_what_is_no_part_is_refused(part: str) -> None:
    with pytest.raises(UsageError, match="is no part"):
        EvaluationRequest(snapshot="s", candidates=("golden",), part=part)


def test_seconds_are_the_instances_own_then_its_repositorys_then_those_of_all() -> None:
    one = task_instance(instance_id=NAMES[0], instance_key=InstanceKey("a"), repo="x/y")
    kin = replace(one, instance_id=NAMES[1], instance_key=InstanceKey("b"))
    other = replace(one, instance_id=NAMES[2], instance_key=InstanceKey("c"), repo="z/z")
    took = [RunTime(InstanceKey("a"), RepoName("x/y"), seconds) for seconds in (2.0, 3.0, 61.0)]
    assert list(seconds_of([one, kin, other], took, 6).values()) == [18.0, 18.0, 18.0]
    took.append(RunTime(InstanceKey("b"), RepoName("x/y"), 10.0))
    assert seconds_of([kin], took, 1) == {NAMES[1]: 10.0}
    assert seconds_of([other], [], 2) == {NAMES[2]: 2 * UNKNOWN_S}


def test_times_are_those_of_the_runs_of_some_instances(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for number, key in enumerate("aab"):
        row = run_row(run_key=RunKey(f"k{number}"), instance_key=InstanceKey(key), wall_s=float(number), setup_s=1.0)
        store.write_run(row)
    repo = run_row().repo
    found = sorted(run_times(store, (InstanceKey("a"),)), key=lambda one: one.seconds)
    assert found == [RunTime(InstanceKey("a"), repo, seconds) for seconds in (1.0, 2.0)]


@dataclass
class Events:
    """A server's events, in pages of fifty, the newest first, as Prefect's server gives them."""

    kept: list[ReceivedEvent] = field(default_factory=list)
    pages: dict[str, list[ReceivedEvent]] = field(default_factory=dict)

    def beat(self, run: UUID, at: datetime) -> None:
        resource = {"prefect.resource.id": f"prefect.flow-run.{run}"}
        event = {"occurred": at, "received": at, "event": BEAT, "resource": resource, "id": uuid4()}
        self.kept.append(ReceivedEvent.model_validate(event))

    def read_events(self, chosen: EventFilter, limit: int) -> EventPage:
        assert chosen.resource
        names = set(chosen.resource.id or ())
        found = [one for one in self.kept if one.occurred >= chosen.occurred.since and one.resource.id in names]
        return self._page(sorted(found, key=lambda one: one.occurred, reverse=True), min(limit, 50))

    def read_events_page(self, url: object) -> EventPage:
        return self._page(self.pages[str(url)], 50)

    def _page(self, found: list[ReceivedEvent], size: int) -> EventPage:
        rest, url = found[size:], f"http://127.0.0.1/events/{len(self.pages)}"
        self.pages[url] = rest
        page = {"events": found[:size], "total": len(found), "next_page": url if rest else None}
        return EventPage.model_validate(page)


@dataclass(frozen=True)
class Stopped:
    """A clock that always says the same."""

    at: datetime

    def now(self, _: tzinfo) -> datetime:
        return self.at


def test_the_last_beat_of_a_silent_one_is_known_among_those_of_many() -> None:
    """One page of events holds fifty: with sixty shards that go on, that of a lost one is on the second."""
    runs, now, server = [uuid4() for _ in range(60)], datetime.now(UTC), Events()
    lost, silent = runs[0], now - timedelta(minutes=8)
    server.beat(lost, silent)
    for run in runs[1:]:
        server.beat(run, now - timedelta(minutes=1))
    beats = Heartbeats(cast(SyncPrefectClient, server))
    beats.ask(runs)
    assert beats.last[lost] == silent
    assert len(beats.last) == len(runs)


def test_a_beat_is_remembered_when_the_server_gives_it_no_longer() -> None:
    run, now, server = uuid4(), datetime.now(UTC), Events()
    beats = Heartbeats(cast(SyncPrefectClient, server))
    server.beat(run, now - timedelta(minutes=10))
    beats.ask([run])
    server.kept.clear()
    beats.ask([run])
    assert beats.last == {run: now - timedelta(minutes=10)}
    server.beat(run, now)
    server.beat(run, now - timedelta(minutes=1))
    beats.ask([run])
    assert beats.last == {run: now}, "the newest, in whatever order they come"


def test_a_run_that_never_sent_a_beat_is_silent_since_it_was_seen_where_others_send_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, other, now, server = uuid4(), uuid4(), datetime.now(UTC), Events()
    beats = Heartbeats(cast(SyncPrefectClient, server))
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    beats.ask([run, other])
    assert beats.silent_s(run) is None, "nobody sends any: they are off"
    server.beat(other, now)
    monkeypatch.setattr("time.monotonic", lambda: 1600.0)
    beats.ask([run, other])
    assert (beats.silent_s(run), beats.silent_s(uuid4()), beats.silent_s(other)) == (600.0, None, 0.0)


@pytest.mark.parametrize("off_s", [-120, -60, 0, 60, 120])
def test_clocks_that_differ_make_no_machine_lost(off_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats come with the time of the machine that sends them: where the watcher's was a minute ahead of it, and half a
    minute lay between them, none was found, and a shard at work was taken for lost."""
    run, server, begun = uuid4(), Events(), datetime(2026, 11, 27, 12, tzinfo=UTC)
    monkeypatch.setattr("flows.engine.shards._interval", lambda: timedelta(seconds=30))
    beats = Heartbeats(cast(SyncPrefectClient, server))
    for second in range(0, 600, 30):
        now = begun + timedelta(seconds=second)
        monkeypatch.setattr("flows.engine.shards.datetime", Stopped(now))
        monkeypatch.setattr("time.monotonic", lambda at=float(second): at)
        server.beat(run, now + timedelta(seconds=off_s))
        beats.ask([run])
        assert beats.silent_s(run) == 0.0


@dataclass
class Server(Events):
    """Flow runs too."""

    runs: dict[UUID, FlowRun] = field(default_factory=dict)

    def start(self, *_: object, **__: object) -> FlowRun:
        run = FlowRun(flow_id=uuid4(), state=Pending(), state_type=StateType.PENDING)
        self.runs[run.id] = run
        return run

    def to(self, run: UUID, state: State[Any]) -> None:
        self.runs[run] = self.runs[run].model_copy(update={"state": state, "state_type": state.type})

    def read_flow_runs(self, flow_run_filter: FlowRunFilter) -> list[FlowRun]:
        assert flow_run_filter.id
        return [self.runs[one] for one in flow_run_filter.id.any_ or ()]

    def set_flow_run_state(self, run: UUID, state: State[Any], *, force: bool) -> None:
        self.to(run, state)


def test_a_shard_whose_worker_was_killed_before_it_began_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays as its worker left it, sends no beat that anybody could miss, and others are at work meanwhile."""
    server = Server()
    monkeypatch.setattr("flows.engine.shards.run_deployment", server.start)
    watch = ShardWatch(cast(SyncPrefectClient, server), uuid4(), "parent", [{}, {}])
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    watch.start()
    working, taken = server.runs
    server.to(working, Running())
    for second in range(0, int(TAKEN_S) + 1, 60):
        monkeypatch.setattr("time.monotonic", lambda at=float(second): at)
        assert watch.look()
        assert list(server.runs) == [working, taken]
    monkeypatch.setattr("time.monotonic", lambda: TAKEN_S + 60)
    assert watch.look()
    state = server.runs[taken].state
    assert state
    assert state.is_crashed()
    assert len(server.runs) == 3
    assert working in watch.under_way, "the one that is at work goes on"


def test_a_part_of_a_request_is_the_request_on_fewer_instances() -> None:
    judged = EvaluationRequest(candidates=("golden",), snapshot="s")
    assert judged.of(NAMES[:2]) == replace(judged, instances=("i0", "i1"))
    whole = SweepRequest(methods=("m",), models=("n",), snapshot="s", limit=2, months=1, until=date(2026, 1, 1))
    part = whole.of(NAMES[:1])
    assert (part.instances, part.limit, part.months, part.until, part.payer) == (("i0",), None, None, None, whole.payer)
    assert (whole.runs, replace(whole, dry_run=True).runs) == (6, 0)
    kept = FixesRequest(fixes=("f",), tests=("t",), snapshot="s", kept="kept.jsonl")  # type: ignore[arg-type]
    assert kept.of(NAMES[:1]).kept is None, "the whole is written once, by the parent"


def test_progress_is_told_where_it_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards are looked at every few seconds, for hours."""
    monkeypatch.setattr("flows.deployments.EVERY_S", 0.0)
    progress = Progress("shards", 3)
    assert [progress.is_new(done) for done in (0, 0, 1, 1, 3, 3)] == [True, False, True, False, True, False]
