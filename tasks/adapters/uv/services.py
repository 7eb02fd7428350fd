"""Services that run next to tests in a sandbox, each in an environment of its own in the same cache folder."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.uv.builder import load_environment
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.environment import Environment
from tasks.domain.names import EnvId

_STEP = "service:"


@dataclass(frozen=True, slots=True)
class Service:
    """A program that tests connect to."""

    built: BuiltEnvironment

    @property
    def argv(self) -> tuple[str, ...]:
        """Command that starts it; `{port}` is replaced by its port."""
        return (str(self.built.python), *self.built.environment.test_args)

    @property
    def env(self) -> dict[str, str]:
        """Variables by which tests find it; `{port}` is replaced."""
        split = (pair.split("=", 1) for pair in self.built.environment.env)
        return dict(split)


def services_of(built: BuiltEnvironment) -> tuple[Service, ...]:
    """Return the services that the steps of an environment name. Raises `NotFound` if one is not in the cache."""
    return tuple(
        Service(load_environment(built.root.with_name(env_id))) for env_id in services_named(built.environment)
    )


def services_named(environment: Environment) -> tuple[EnvId, ...]:
    """Return the environments of the services that run next to tests in this environment."""
    steps = (step.removeprefix(_STEP) for step in environment.install if step.startswith(_STEP))
    return tuple(EnvId(step.partition("=")[2]) for step in steps)
