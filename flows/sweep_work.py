"""The units of a sweep, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from flows.fan_out import Failed, FanOut, Unit
from flows.settings import Settings
from flows.sweep_context import Context, request_for, retrieve
from flows.sweep_request import SweepRequest
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, InstanceId
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.generate.task import Generated, ModelFor, generate
from tasks.methods.method import Method

UNITS = 400
"""About so many tasks for one sweep: above that, one task does several instances."""
METHOD, MODEL, REQUESTS = 3, 4, 6
"""Places in a unit of generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What became of one method with one model."""

    method: str
    model: str
    instances: int
    proposed: int
    """Samples with a patch."""
    nothing: int
    """Samples without."""
    reused: int
    """Samples that were in the store."""
    left: int
    """Instances that provider, budget or machine left undone."""


class SweepWork:
    """The units of a sweep, and what becomes of them."""

    def __init__(
        self, request: SweepRequest, settings: Settings, methods: Sequence[Method], instances: Sequence[TaskInstance]
    ) -> None:
        self.request = request
        self.settings = settings
        self.methods = methods
        self.instances = instances
        self.names = {instance.instance_key: instance.instance_id for instance in instances}
        self.problems: list[str] = []
        self._ready: dict[InstanceId, EnvId] = {}
        self._context = Context(files={})
        self._done: dict[tuple[str, str], Generated] = {}

    def prepare(self, fan_out: FanOut) -> None:
        """Environments, and retrieved files."""
        names = [instance.instance_id for instance in self.instances]
        check = CheckSettings(sandbox=self.settings.sandbox, trusted=self.request.trusted)
        units: list[Unit] = [(self.settings.places, check, self.request.snapshot, name) for name in names]
        prepared = fan_out("environments", prepare_environment, units)
        for name, result in zip(names, prepared, strict=True):
            if isinstance(result, Failed):
                self.problems.append(f"{name}: {result.error}")
            elif result is None:
                self.problems.append(f"{name}: no environment is ready, see environment_attempt")
            else:
                self._ready[name] = result
        ready = [instance for instance in self.instances if instance.instance_id in self._ready]
        self._context = retrieve(self.request, self.methods, ready, self.settings, fan_out)
        self.problems += self._context.problems

    def generate(self, fan_out: FanOut, models_for: Callable[[str, str], ModelFor]) -> None:
        """All methods on one batch of instances, then on the next: a budget that ends leaves whole instances."""
        units = [
            self._unit(method, model, batch, models_for(method.name, model))
            for batch in self._batches()
            for method in self.methods
            for model in self.request.models
        ]
        units = [unit for unit in units if unit[REQUESTS]]
        results = fan_out("generation", generate, units)
        for unit, result in zip(units, results, strict=True):
            self._note(unit, result)

    def cells(self) -> tuple[Cell, ...]:
        """One row per method and model; instances that were not even begun are left as well."""
        return tuple(self._cell(method.name, model) for method in self.methods for model in self.request.models)

    def _cell(self, method: str, model: str) -> Cell:
        done = self._done.get((method, model), Generated())
        begun = self._begun(method)
        return Cell(
            method=method,
            model=model,
            instances=len(self.instances),
            proposed=done.proposed,
            nothing=done.nothing,
            reused=done.reused,
            left=done.infrastructure + len(self.instances) - begun,
        )

    def _begun(self, method: str) -> int:
        (known,) = (one for one in self.methods if one.name == method)
        return sum(self._can(known, instance) for instance in self.instances)

    def _can(self, method: Method, instance: TaskInstance) -> bool:
        return instance.instance_id in self._ready and self._context.covers(method, instance)

    def _batches(self) -> Iterable[Sequence[TaskInstance]]:
        pairs = len(self.methods) * len(self.request.models)
        size = max(1, -(-len(self.instances) * pairs // UNITS))
        return (self.instances[at : at + size] for at in range(0, len(self.instances), size))

    def _unit(self, method: Method, model: str, batch: Sequence[TaskInstance], model_for: ModelFor) -> Unit:
        can = [instance for instance in batch if self._can(method, instance)]
        requests = tuple(
            request_for(self.request, method, one, self._ready[one.instance_id], self._context) for one in can
        )
        how = self.request.generation(self.settings)
        return (self.settings.places, how, self.request.snapshot, method.name, model, model_for, requests)

    def _note(self, unit: Unit, result: Generated | Failed) -> None:
        if isinstance(result, Failed):
            names = [request.instance_id for request in unit[REQUESTS]]
            lines = tuple(f"{name}: {result.error.slug}: {result.error}" for name in names)
            result = Generated(infrastructure=len(names), problems=lines)
        pair = (unit[METHOD], unit[MODEL])
        self._done[pair] = self._done.get(pair, Generated()) + result
        self.problems += [f"left: {pair[0]} × {pair[1]}: {line}" for line in result.problems]
