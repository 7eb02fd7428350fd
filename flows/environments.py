"""Find or build the environments of instances.

find, EnvironmentOnDemand   for evaluations and sweeps: builds nothing if all work of a unit is already done
prepare                     for flows that need every environment on this machine
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
    """Returns the settings for checking environments."""
    return CheckSettings(sandbox=settings.sandbox, trusted=settings.trusted)


def find(run: FlowRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """Returns instance → environment for the instances that have one. The environment may be on another machine."""
    return _round(run, typed_partial(find_environment, settings.places, check_settings(settings)), snapshot, names)


def prepare(run: FlowRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """Returns instance → environment for the instances that have one. Builds each environment that is not on this
    machine."""
    return _round(run, typed_partial(prepare_environment, settings.places, check_settings(settings)), snapshot, names)


@dataclass(frozen=True, slots=True)
class EnvironmentOnDemand(Generic[U, R]):
    """Wraps a stage function that needs the unit's environment. After `find`, it builds a missing environment first,
    unless the unit has nothing left to do."""

    settings: Settings
    lacks: Callable[[U], bool]
    """Whether the unit has work left."""
    function: Callable[[U], R]
    _here: set[tuple[InstanceId, EnvId]] = field(default_factory=set, init=False)
    """Environments already found on this machine. An instance has many units, but its environment is checked once."""

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
