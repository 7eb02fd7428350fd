"""Environments of instances: as any machine found them, and built on this one where work wants them.

find, WhereNeeded   evaluations and sweeps: where nothing is left to do, nothing is built
prepare             stories that look into each environment, whatever else there is to do
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from flows.engine.units import FlowRun, typed_partial
from flows.interface.settings import Settings
from tasks.domain.names import EnvId, InstanceId
from tasks.domain.undone import InEnvironment, OfInstance
from tasks.environment.task import CheckSettings, build_again, find_environment, has_environment, prepare_environment

U = TypeVar("U", bound=InEnvironment)
R = TypeVar("R")


def check_settings(settings: Settings) -> CheckSettings:
    """How environments are looked at."""
    return CheckSettings(sandbox=settings.sandbox, trusted=settings.trusted)


def find(run: FlowRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """The environments of instances, of those that have one; not all of them need be on this machine."""
    return _round(run, typed_partial(find_environment, settings.places, check_settings(settings)), snapshot, names)


def prepare(run: FlowRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """The environments of instances, of those that have one, all of them on this machine."""
    return _round(run, typed_partial(prepare_environment, settings.places, check_settings(settings)), snapshot, names)


@dataclass(frozen=True, slots=True)
class EnvironmentOnDemand(Generic[U, R]):
    """A stage function that wants the environment of its unit, after `find`: what is not on this machine is built
    before, unless nothing is left to do."""

    settings: Settings
    lacks: Callable[[U], bool]
    """Whether something is left to do."""
    function: Callable[[U], R]
    _here: set[tuple[InstanceId, EnvId]] = field(default_factory=set, init=False)
    """Seen on this machine: an instance has many units, and its environment is looked for once."""

    def __call__(self, unit: U) -> R:
        wanted = (unit.instance_id, unit.env_id)
        if wanted not in self._here:
            if has_environment(self.settings.places, unit):
                self._here.add(wanted)
            elif self.lacks(unit):
                build_again(self.settings.places, check_settings(self.settings), unit)
                self._here.add(wanted)
        return self.function(unit)


def _round(
    run: FlowRun, function: Callable[[OfInstance], EnvId], snapshot: str, names: Iterable[InstanceId]
) -> dict[InstanceId, EnvId]:
    units = [OfInstance(snapshot=snapshot, instance_id=name) for name in names]
    return {unit.instance_id: env_id for unit, env_id in run.map_task("environments", function, units)}
