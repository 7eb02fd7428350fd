"""A flow run of a deployment that is shared: its instances cut by environment, each shard a flow run of the same
deployment, on whatever work pool that has. Where candidates are judged, an instance that would be several shards by
itself is cut as well (`EvaluationRequest.part`): all machines would wait for the one that has it.

    request ─► instances, by environment ─► shards of some minutes ─► flow runs of the deployment
                                                                         └─ all ended ─► the parent tells the story

Shards do nothing but fill the store. The parent tells the whole story afterwards, finds what they did, and does what is
missing itself: a shard that was lost, or that no worker picked up, costs time and never a result, and what the flow run
ends as follows from the rows, as without shards.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from prefect import runtime
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.events import EventPage
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments import run_deployment
from prefect.events.filters import EventFilter, EventNameFilter, EventOccurredFilter, EventResourceFilter
from prefect.settings import get_current_settings
from prefect.states import Cancelled, Cancelling, Crashed

from flows.engine.units import log
from flows.interface.requests import EvaluationRequest, GenerateRequest, SharedRequest
from flows.interface.settings import Settings
from flows.sweep import chosen_instances
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import UsageError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, InstanceKey, RepoName
from tasks.domain.run import Run
from tasks.evaluate.task import choose_instances

SHARD_S = 300.0
"""Seconds of runs in a shard, where their number is left to us: two to ten minutes each, by what the store measured."""
UNKNOWN_S = 30.0
"""Of a run, where the store has none of any instance."""
TRIES = 3
"""Flow runs of one shard at most: the first, and others after a crash."""
EVERY_S = 5.0
"""Between two looks at the shards."""
CLOCKS = timedelta(minutes=3)
"""So far may the clocks of two machines be apart."""
BEATS = 3
"""A flow run that is under way says so every three minutes (PREFECT_FLOWS_HEARTBEAT_FREQUENCY); one that has missed so
many is lost with its machine."""
TAKEN_S = 600.0
"""Until a flow run that a worker has taken begins; an image may have to be pulled. One that does not was left by a
worker that was killed: Prefect calls it pending for ever, and where no heartbeat came none is missed."""
PATIENCE_S = 300.0
"""So long nothing of ours has run: no worker has room for shards, and the parent does the rest itself."""
PAGE = 100
"""Flow runs in one question to the server, which gives 200 at most."""
EVENTS = 50
"""On one page of events, the most that the server gives."""
BEAT = "prefect.flow-run.heartbeat"
WAITING = (StateType.SCHEDULED, StateType.PENDING)


def cut(
    groups: Mapping[InstanceId, str], seconds: Mapping[InstanceId, float], shards: int
) -> tuple[tuple[InstanceId, ...], ...]:
    """Instances in at most `shards` parts of about equal seconds, in the order of their groups, so that at most
    `shards` - 1 of the groups lie in two parts. None is empty."""
    ordered = sorted(groups, key=lambda name: (groups[name], name))
    whole = sum(seconds[name] for name in ordered)
    parts: defaultdict[int, list[InstanceId]] = defaultdict(list)
    before = 0.0
    for place, name in enumerate(ordered):
        # Where nothing takes time, they are counted.
        middle = (before + seconds[name] / 2) / whole if whole else (place + 0.5) / len(ordered)
        parts[min(int(middle * shards), shards - 1)].append(name)
        before += seconds[name]
    return tuple(tuple(parts[number]) for number in sorted(parts))


@dataclass(frozen=True, slots=True)
class RunTime:
    """What one run took."""

    instance_key: InstanceKey
    repo: RepoName
    seconds: float


def run_times(store: Store, keys: tuple[InstanceKey, ...]) -> Iterator[RunTime]:
    """Of all runs of some instances."""
    found = store.columns(Run, ("instance_key", "repo", "wall_s", "setup_s"), instance_key=keys).to_pydict()
    for key, repo, wall, setup in zip(*found.values(), strict=True):
        yield RunTime(key, repo, wall + setup)


def seconds_of(instances: Sequence[TaskInstance], runs: Iterable[RunTime], times: int) -> dict[InstanceId, float]:
    """Expected seconds of `times` runs of each instance: by its own median; else its repository's, else that of all."""
    by_key, by_repo, every = defaultdict(list), defaultdict(list), []
    for run in runs:
        by_key[run.instance_key].append(run.seconds)
        by_repo[run.repo].append(run.seconds)
        every.append(run.seconds)
    usual = statistics.median(every) if every else UNKNOWN_S

    def one(row: TaskInstance) -> float:
        known = by_key.get(row.instance_key) or by_repo.get(row.repo)
        return statistics.median(known) if known else usual

    return {row.instance_id: times * one(row) for row in instances}


def long_ones(seconds: Mapping[InstanceId, float], shards: int) -> dict[InstanceId, int]:
    """The instances that take as long as several of so many equal shards, and of how many: `shards` in all at most."""
    each = sum(seconds.values()) / shards
    return {name: int(own / each) for name, own in seconds.items() if each and own >= 2 * each}


def planned(request: SharedRequest, settings: Settings, shards: int) -> tuple[SharedRequest, ...]:
    """What each shard is asked for; 0 `shards` are as many as take `SHARD_S` each."""
    if isinstance(request, GenerateRequest):
        instances = chosen_instances(request, settings)
    else:
        instances = choose_instances(settings.places, request.snapshot, request.instances)
    keys = tuple(row.instance_key for row in instances)
    seconds = seconds_of(instances, run_times(Store(settings.store), keys), request.runs)
    number = shards or max(1, math.ceil(sum(seconds.values()) / SHARD_S))
    groups = {row.instance_id: f"{row.repo} {row.version}" for row in instances}
    return arranged(request, groups, seconds, number)


def arranged(
    request: SharedRequest, groups: Mapping[InstanceId, str], seconds: Mapping[InstanceId, float], shards: int
) -> tuple[SharedRequest, ...]:
    """`cut`, with what is too long for a shard in parts where the story can do that: about `shards` requests."""
    apart: list[SharedRequest] = []
    if isinstance(request, EvaluationRequest) and not request.part:
        for name, parts in long_ones(seconds, shards).items():
            apart += request.parts(name, parts)
    long = {name for one in apart for name in one.instances}
    rest = {name: group for name, group in groups.items() if name not in long}
    return (*apart, *(request.of(some) for some in cut(rest, seconds, max(1, shards - len(apart)))))


def share(requests: Sequence[SharedRequest], names: Mapping[str, Any], tell: Callable[[int], None]) -> None:
    """Let flow runs of this flow run's deployment do what is asked; none is under way when it returns, or raises.

    `names` are parameters that they are given as they are here: the requests hold paths of this machine in their place.

    `tell` is told how many have ended, at every look. `UsageError` where there is no deployment.
    """
    parent, deployment = runtime.flow_run.id, runtime.deployment.id
    if not parent or not deployment:
        raise UsageError("shards are flow runs of a deployment, and this has none", hint="prefect deployment run …")
    with get_client(sync_client=True) as client:
        asked = [{**_asked(one), **names} for one in requests]
        watch = ShardWatch(client, UUID(str(deployment)), str(parent), asked, runtime.flow_run.job_variables)
        try:
            watch.start()
            while watch.look():
                tell(watch.ended)
                time.sleep(EVERY_S)
            tell(watch.ended)
        except BaseException:
            watch.cancel("the flow run that started it has ended")
            raise


def _asked(request: SharedRequest) -> dict[str, Any]:
    """Parameters of a flow run, as JSON."""
    parameters: dict[str, Any] = json.loads(json.dumps(asdict(request), default=str))
    return parameters


@dataclass(slots=True)
class ShardWatch:
    """The shards of one flow run, and the flow runs that do them."""

    client: SyncPrefectClient
    deployment: UUID
    parent: str
    asked: Sequence[Mapping[str, Any]]
    job_variables: dict[str, Any] | None = None
    """What the parent has of its own from the work pool (an image, volumes): its shards have it as well."""
    tries: Counter[int] = field(default_factory=Counter)
    """Flow runs so far, by number of the shard."""
    under_way: dict[UUID, int] = field(default_factory=dict)
    """Number of the shard, by its latest flow run."""
    beats: Heartbeats = field(init=False)
    ran: float = field(default_factory=time.monotonic)
    """When one of ours was last seen running."""
    taken: dict[UUID, float] = field(default_factory=dict)
    """When a flow run was first seen taken by a worker."""

    def __post_init__(self) -> None:
        self.beats = Heartbeats(self.client)

    @property
    def ended(self) -> int:
        return len(self.asked) - len(self.under_way)

    def start(self) -> None:
        for number in range(len(self.asked)):
            self._start(number)

    def look(self) -> bool:
        """Whether any is under way still; one that crashed is started again."""
        known = {run.id: run for run in self._runs()}
        self.beats.ask([one for one, run in known.items() if run.state_type is StateType.RUNNING])
        for one, number in list(self.under_way.items()):
            state = known[one].state if one in known else Crashed(message="the server has forgotten it")
            if state and state.type is StateType.RUNNING:
                self.ran = time.monotonic()
                state = self._lost(known[one]) or state
            elif state and state.type is StateType.PENDING:
                state = self._left(one) or state
            if state and state.is_final():
                del self.under_way[one]
                log.info("shard %d of %d: %s", number + 1, len(self.asked), state.name)
                if state.is_crashed() and self.tries[number] < TRIES:
                    self._start(number)
        if self.under_way and time.monotonic() - self.ran > PATIENCE_S:
            self.cancel("no worker has room for it; the flow run that started it does its work")
        return bool(self.under_way)

    def cancel(self, why: str) -> None:
        """End all that are under way, on whatever machine."""
        for run in self._runs():
            if run.state and not run.state.is_final():
                ending = Cancelled if run.state.type in WAITING else Cancelling
                self.client.set_flow_run_state(run.id, ending(message=why), force=True)
        self.under_way.clear()

    def _start(self, number: int) -> None:
        self.tries[number] += 1
        run = cast(
            FlowRun,
            run_deployment(
                self.deployment,
                parameters={**self.asked[number], "shards": 1},
                job_variables=self.job_variables,
                timeout=0,
                tags=[f"shard {number + 1} of {len(self.asked)}"],
                # A parent that is told again finds those of its shards that were started.
                idempotency_key=f"{self.parent}-{number}-{self.tries[number]}",
            ),
        )
        self.under_way[run.id] = number
        self.ran = time.monotonic()

    def _runs(self) -> Iterable[FlowRun]:
        ids = list(self.under_way)
        for at in range(0, len(ids), PAGE):
            chosen = FlowRunFilter(id=FlowRunFilterId(any_=ids[at : at + PAGE]))
            yield from self.client.read_flow_runs(flow_run_filter=chosen)

    def _lost(self, run: FlowRun) -> State[Any] | None:
        """The state of a run that has been silent for too long, null for another."""
        silent_s = self.beats.silent_s(run.id)
        if silent_s is None or silent_s < BEATS * _interval().total_seconds():
            return None
        return self._crashed(run.id, f"not heard of for {silent_s:.0f} s: its machine is taken for lost")

    def _left(self, run: UUID) -> State[Any] | None:
        """The state of a run that a worker has taken for too long, null for another."""
        waits_s = time.monotonic() - self.taken.setdefault(run, time.monotonic())
        return self._crashed(run, f"taken {waits_s:.0f} s ago and not begun") if waits_s > TAKEN_S else None

    def _crashed(self, run: UUID, why: str) -> State[Any]:
        state: State[Any] = Crashed(message=why)
        self.client.set_flow_run_state(run, state, force=True)
        return state


@dataclass(slots=True)
class Heartbeats:
    """When flow runs last said that they are under way. Kept from look to look: those that go on must not push the last
    beat of a lost one out of what the server gives.

    A beat has the time of its machine, which may be wrong. So silence is counted here, by a clock that nobody sets,
    from the look at which something new was heard.
    """

    client: SyncPrefectClient
    last: dict[UUID, datetime] = field(default_factory=dict)
    """Latest beat of each run, by its machine's clock."""
    heard: dict[UUID, float] = field(default_factory=dict)
    """When that was new here, by `time.monotonic`; of a run without a beat, when it was first asked for."""
    asked: datetime | None = None

    def silent_s(self, run: UUID) -> float | None:
        """Seconds for which nothing new was heard of a run. Null where no run of ours ever sent a beat, for then they
        are off, and silence says nothing."""
        return time.monotonic() - self.heard[run] if self.last and run in self.heard else None

    def ask(self, runs: Sequence[UUID]) -> None:
        """Read what was said since the last time, all pages of it.

        From some time before that on: the server may have had an event to write while it was asked, and clocks differ.
        """
        now = datetime.now(UTC)
        since = (self.asked or now - BEATS * _interval()) - _interval() - CLOCKS
        for run in runs:
            self.heard.setdefault(run, time.monotonic())
        for at in range(0, len(runs), PAGE):
            for run, occurred in self._events(runs[at : at + PAGE], since):
                if run not in self.last or occurred > self.last[run]:
                    self.last[run], self.heard[run] = occurred, time.monotonic()
        self.asked = now

    def _events(self, runs: Sequence[UUID], since: datetime) -> Iterator[tuple[UUID, datetime]]:
        names = {f"prefect.flow-run.{one}": one for one in runs}
        chosen = EventFilter(
            occurred=EventOccurredFilter.model_validate({"since": since}),
            event=EventNameFilter(name=[BEAT]),
            resource=EventResourceFilter(id=list(names)),
        )
        page: EventPage | None = self.client.read_events(chosen, limit=EVENTS)
        while page:
            for event in page.events:
                yield names[event.resource["prefect.resource.id"]], event.occurred
            page = page.get_next_page_sync(self.client)


def _interval() -> timedelta:
    return timedelta(seconds=get_current_settings().flows.heartbeat_frequency or 180)
