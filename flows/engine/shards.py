"""Split a flow run into shards: each shard is another flow run of the same deployment, on its work pool.

    request ─► instances, by environment ─► shards of some minutes ─► flow runs of the deployment
                                                                         └─ all ended ─► the parent runs the flow

Instances are grouped by environment. `evaluate` can also split one instance (`EvaluationRequest.part`) if it takes as
long as several shards. Otherwise all machines would wait for that instance.

Shards only fill the store. The parent then runs the whole flow, reuses their stored work and does what is missing. A
shard that is lost, or that no worker starts, costs time but no result. The final state follows from the rows, as
without shards.
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
"""Target seconds of runs in a shard if the user sets no number of shards. By the times in the store, shards take two to
ten minutes."""
UNKNOWN_S = 30.0
"""Seconds of a run if the store has no run at all."""
TRIES = 3
"""Maximum flow runs of one shard: the first, and retries after a crash."""
EVERY_S = 5.0
"""Seconds between two checks of the shards."""
CLOCKS = timedelta(minutes=3)
"""Maximum difference between the clocks of two machines."""
BEATS = 3
"""A flow run sends a heartbeat every three minutes (PREFECT_FLOWS_HEARTBEAT_FREQUENCY). After this many missed
heartbeats it counts as lost with its machine."""
TAKEN_S = 600.0
"""Maximum seconds in the state Pending, in which an image may have to be pulled. A killed worker leaves its flow run
Pending for ever, and a run without a first heartbeat is not detected as lost."""
PATIENCE_S = 300.0
"""Seconds without any running shard after which the parent cancels the shards and does the work itself: no worker has
capacity."""
PAGE = 100
"""Flow runs in one request to the server, whose maximum is 200."""
EVENTS = 50
"""Events on one page, the maximum of the server."""
BEAT = "prefect.flow-run.heartbeat"
WAITING = (StateType.SCHEDULED, StateType.PENDING)


def cut(
    groups: Mapping[InstanceId, str], seconds: Mapping[InstanceId, float], shards: int
) -> tuple[tuple[InstanceId, ...], ...]:
    """Split instances into at most `shards` non-empty parts of about equal seconds. Keeps the order of groups, so at
    most `shards` - 1 groups are split."""
    ordered = sorted(groups, key=lambda name: (groups[name], name))
    whole = sum(seconds[name] for name in ordered)
    parts: defaultdict[int, list[InstanceId]] = defaultdict(list)
    before = 0.0
    for place, name in enumerate(ordered):
        # If no instance takes time, balance the number of instances.
        middle = (before + seconds[name] / 2) / whole if whole else (place + 0.5) / len(ordered)
        parts[min(int(middle * shards), shards - 1)].append(name)
        before += seconds[name]
    return tuple(tuple(parts[number]) for number in sorted(parts))


@dataclass(frozen=True, slots=True)
class RunTime:
    """Duration of one test run."""

    instance_key: InstanceKey
    repo: RepoName
    seconds: float


def run_times(store: Store, keys: tuple[InstanceKey, ...]) -> Iterator[RunTime]:
    """Returns the duration of all stored runs of these instances."""
    found = store.columns(Run, ("instance_key", "repo", "wall_s", "setup_s"), instance_key=keys).to_pydict()
    for key, repo, wall, setup in zip(*found.values(), strict=True):
        yield RunTime(key, repo, wall + setup)


def seconds_of(instances: Sequence[TaskInstance], runs: Iterable[RunTime], times: int) -> dict[InstanceId, float]:
    """Estimate the seconds of `times` runs of each instance, from the median of its own runs; else of its repository,
    else of all."""
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
    """Returns the instances that take as long as two or more equal shards, with their number of parts. All parts
    together are at most `shards`."""
    each = sum(seconds.values()) / shards
    return {name: int(own / each) for name, own in seconds.items() if each and own >= 2 * each}


def planned(request: SharedRequest, settings: Settings, shards: int) -> tuple[SharedRequest, ...]:
    """Returns one request for each shard. With `shards` 0, their number follows from `SHARD_S`."""
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
    """`cut`, but splits instances that are too long for a shard if the flow supports parts. Returns about `shards`
    requests."""
    apart: list[SharedRequest] = []
    if isinstance(request, EvaluationRequest) and not request.part:
        for name, parts in long_ones(seconds, shards).items():
            apart += request.parts(name, parts)
    long = {name for one in apart for name in one.instances}
    rest = {name: group for name, group in groups.items() if name not in long}
    return (*apart, *(request.of(some) for some in cut(rest, seconds, max(1, shards - len(apart)))))


def share(requests: Sequence[SharedRequest], names: Mapping[str, Any], tell: Callable[[int], None]) -> None:
    """Run the requests as flow runs of this deployment. When it returns or raises, none of them is running.

    `names`: parameters that replace those of the requests, because the requests hold paths of this machine.

    `tell` receives the number of ended shards at every check. Raises `UsageError` if this flow run has no deployment.
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
    """Returns the parameters of a flow run as JSON values."""
    parameters: dict[str, Any] = json.loads(json.dumps(asdict(request), default=str))
    return parameters


@dataclass(slots=True)
class ShardWatch:
    """Starts and watches the flow runs of all shards."""

    client: SyncPrefectClient
    deployment: UUID
    parent: str
    asked: Sequence[Mapping[str, Any]]
    job_variables: dict[str, Any] | None = None
    """The parent's own settings from the work pool (an image, volumes), which its shards get as well."""
    tries: Counter[int] = field(default_factory=Counter)
    """Shard number → flow runs started so far."""
    under_way: dict[UUID, int] = field(default_factory=dict)
    """Flow run → number of its shard."""
    beats: Heartbeats = field(init=False)
    ran: float = field(default_factory=time.monotonic)
    """Time at which a shard was last seen running."""
    taken: dict[UUID, float] = field(default_factory=dict)
    """Flow run → time at which it was first seen Pending."""

    def __post_init__(self) -> None:
        self.beats = Heartbeats(self.client)

    @property
    def ended(self) -> int:
        return len(self.asked) - len(self.under_way)

    def start(self) -> None:
        for number in range(len(self.asked)):
            self._start(number)

    def look(self) -> bool:
        """Check all shards and restart crashed ones. Returns whether any has not ended."""
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
        """Cancel all shards that have not ended, on any machine."""
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
                # If the parent is retried, the key finds the shards that it has already started.
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
        """Mark a run as crashed if its heartbeats stopped for too long. Returns the new state, else None."""
        silent_s = self.beats.silent_s(run.id)
        if silent_s is None or silent_s < BEATS * _interval().total_seconds():
            return None
        return self._crashed(run.id, f"not heard of for {silent_s:.0f} s: its machine is taken for lost")

    def _left(self, run: UUID) -> State[Any] | None:
        """Mark a run as crashed if it is Pending for too long. Returns the new state, else None."""
        waits_s = time.monotonic() - self.taken.setdefault(run, time.monotonic())
        return self._crashed(run, f"taken {waits_s:.0f} s ago and not begun") if waits_s > TAKEN_S else None

    def _crashed(self, run: UUID, why: str) -> State[Any]:
        state: State[Any] = Crashed(message=why)
        self.client.set_flow_run_state(run, state, force=True)
        return state


@dataclass(slots=True)
class Heartbeats:
    """Records the last heartbeat of each flow run. It is kept between checks, because the server returns only the
    latest events. Otherwise heartbeats of live runs would push out the last one of a lost run.

    A heartbeat carries the time of its machine, which may be wrong. So silence is measured here with the monotonic
    clock, from the check that found a new heartbeat.
    """

    client: SyncPrefectClient
    last: dict[UUID, datetime] = field(default_factory=dict)
    """Latest heartbeat of each run, by its machine's clock."""
    heard: dict[UUID, float] = field(default_factory=dict)
    """`time.monotonic` of the check that found this heartbeat; for a run without one, of the first check."""
    asked: datetime | None = None

    def silent_s(self, run: UUID) -> float | None:
        """Returns the seconds since the last new heartbeat of a run. None if no run ever sent one: heartbeats are then
        off, and silence means nothing."""
        return time.monotonic() - self.heard[run] if self.last and run in self.heard else None

    def ask(self, runs: Sequence[UUID]) -> None:
        """Read all heartbeats since the last check.

        The window begins earlier than that check: the server may write events late, and clocks differ.
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
