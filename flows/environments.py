"""Environments of instances: as any machine found them, and built on this one where work wants them.

find, WhereNeeded   evaluations and sweeps: where nothing is left to do, nothing is built
prepare             stories that look into each environment, whatever else there is to do
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from flows.run import StoryRun, bind
from flows.settings import Settings
from tasks.domain.names import EnvId, InstanceId
from tasks.domain.undone import OfInstance
from tasks.environment.task import CheckSettings, build_again, find_environment, has_environment, prepare_environment


class InEnvironment(Protocol):
    """A unit of an instance with the environment that it is done in."""

    @property
    def snapshot(self) -> str: ...
    @property
    def instance_id(self) -> InstanceId: ...
    @property
    def env_id(self) -> EnvId: ...


U = TypeVar("U", bound=InEnvironment)
R = TypeVar("R")


def check_settings(settings: Settings) -> CheckSettings:
    """How environments are looked at."""
    return CheckSettings(sandbox=settings.sandbox, trusted=settings.trusted)


def find(run: StoryRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """The environments of instances, of those that have one; not all of them need be on this machine."""
    return _round(run, bind(find_environment, settings.places, check_settings(settings)), snapshot, names)


def prepare(run: StoryRun, settings: Settings, snapshot: str, names: Iterable[InstanceId]) -> dict[InstanceId, EnvId]:
    """The environments of instances, of those that have one, all of them on this machine."""
    return _round(run, bind(prepare_environment, settings.places, check_settings(settings)), snapshot, names)


@dataclass(frozen=True, slots=True)
class WhereNeeded(Generic[U, R]):
    """A stage function that wants the environment of its unit, after `find`: what is not on this machine is built
    before, unless nothing is left to do."""

    settings: Settings
    lacks: Callable[[U], bool]
    """Whether something is left to do."""
    function: Callable[[U], R]

    def __call__(self, unit: U) -> R:
        places, instance = self.settings.places, OfInstance(snapshot=unit.snapshot, instance_id=unit.instance_id)
        if not has_environment(places, instance, unit.env_id) and self.lacks(unit):
            build_again(places, check_settings(self.settings), instance, unit.env_id)
        return self.function(unit)


def _round(
    run: StoryRun, function: Callable[[OfInstance], EnvId], snapshot: str, names: Iterable[InstanceId]
) -> dict[InstanceId, EnvId]:
    units = [OfInstance(snapshot=snapshot, instance_id=name) for name in names]
    return {unit.instance_id: env_id for unit, env_id in run.round("environments", function, units)}
