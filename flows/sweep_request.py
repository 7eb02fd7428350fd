"""What a sweep is asked for, and which instances that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from flows.settings import Settings
from flows.sweep_given import Give, most_changed
from tasks.adapters.llm.budget import Budget
from tasks.adapters.llm.retries import Patience
from tasks.adapters.retrieval.variants import Variant
from tasks.adapters.rows.reader import read_rows
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.latest import literal
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.generation import Mode
from tasks.domain.instance import TaskInstance
from tasks.domain.names import content_key
from tasks.evaluate.task import choose_instances
from tasks.generate.task import GenerationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Instances whose pull request was opened in the last so many months before a day."""

    months: int
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """Methods × models × instances."""

    snapshot: str
    methods: tuple[str, ...]
    models: tuple[str, ...]
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    window: Window | None = None
    limit: int | None = None
    """Only so many of the instances: always the same ones, drawn by a hash of their names."""
    shard: int = 1
    shards: int = 1
    """Do the share number `shard` of so many: for several workers on one store. The budget is shared out as well."""
    name: str = ""
    """Who pays: sweeps of one name share one budget. Empty: named after snapshot, models and methods."""
    budget: Budget = field(default_factory=Budget)
    patience: Patience = field(default_factory=Patience)
    """How often one model call is tried."""
    context: Variant = Variant.CODE
    """The retriever behind methods that want files."""
    give: frozenset[Give] = frozenset()
    incorrect: Mapping[str, str] = field(default_factory=dict)
    """Instance id → a fix that is known to be wrong."""
    mode: Mode = Mode.UNIT_TEST
    evaluate: bool = True
    """Judge what was generated, with the controls `golden` and `nop`."""
    trusted: bool = False
    """Whether the code may run in a sandbox that isolates nothing."""

    def __post_init__(self) -> None:
        if not self.methods or not self.models:
            raise UsageError("a sweep needs a method and a model", hint="--method zero_shot_plus --model NAME")
        if not 1 <= self.shard <= self.shards:
            raise UsageError(f"there is no shard {self.shard} of {self.shards}", hint="they are counted from 1")
        if Give.INCORRECT_PATCH in self.give and Give.GOLDEN_PATCH in self.give:
            raise UsageError("one patch is given, golden or incorrect", hint="make two sweeps of it")
        if Give.MODIFIED_FILES in self.give and not self.give & {Give.INCORRECT_PATCH, Give.GOLDEN_PATCH}:
            raise UsageError("modified-files says which files a patch changes", hint="give a patch as well")

    @property
    def payer(self) -> str:
        """The sweep's name, that of its shard where it has several."""
        key = content_key("sweep", self.snapshot, sorted(self.models), sorted(self.methods))[:8]
        name = self.name or f"{self.snapshot}-{key}"
        return name if self.shards == 1 else f"{name}.{self.shard}of{self.shards}"

    @property
    def share(self) -> Budget:
        """The ceiling of this shard."""
        whole = self.budget
        return Budget(
            calls=None if whole.calls is None else _share(whole.calls, self.shard, self.shards),
            usd=None if whole.usd is None else whole.usd / self.shards,
        )

    def label(self, method: str) -> str:
        """The method that its candidates are counted under: one that is told more is another one."""
        asked = () if self.mode is Mode.UNIT_TEST else (self.mode.value,)
        return "+".join((method, *(give.value for give in Give if give in self.give), *asked))

    def generation(self, settings: Settings) -> GenerationSettings:
        """How methods work in this sweep."""
        return GenerationSettings(
            mode=self.mode, sandbox=settings.sandbox, trusted=self.trusted, limits=settings.limits
        )


def chosen_instances(request: SweepRequest, settings: Settings) -> tuple[TaskInstance, ...]:
    """The instances of a request, in a fixed order that is no order of theirs."""
    found = choose_instances(settings.places, request.snapshot, request.instances)
    if request.window:
        inside = _inside(request.window, request.snapshot, settings)
        found = tuple(instance for instance in found if instance.instance_id in inside)
    if Give.INCORRECT_PATCH in request.give:
        found = tuple(instance for instance in found if instance.instance_id in request.incorrect)
    if Give.TEST_FILE in request.give:
        found = tuple(instance for instance in found if most_changed(instance.test_patch))
    drawn = sorted(found, key=lambda one: content_key("draw", one.instance_id))[: request.limit]
    mine = drawn[request.shard - 1 :: request.shards]
    if not mine:
        raise BadInput(f"no instance of {request.snapshot} is asked for", hint="see `FROM task_instance`")
    return tuple(mine)


def _inside(window: Window, snapshot: str, settings: Settings) -> frozenset[str]:
    ensure_views(settings.store, settings.database, settings.sql)
    called = f"instance_window({literal(snapshot)}, {window.months}, DATE {literal(window.until.isoformat())})"
    return frozenset(query(settings.database, f"SELECT instance_id FROM {called}")["instance_id"].to_pylist())


def _share(whole: int, shard: int, shards: int) -> int:
    """`whole` in `shards` parts that differ by 1 at most."""
    return whole // shards + (shard <= whole % shards)


def fixes_in(path: Path) -> dict[str, str]:
    """Instance id → patch, of a predictions file of a repair system. Rows without a patch are left out."""
    rows = [row.values for row in read_rows(path) if not row.problem]
    return {str(row["instance_id"]): str(row["model_patch"]) for row in rows if row.get("model_patch")}
