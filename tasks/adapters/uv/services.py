"""What runs beside tests in a sandbox, each in an environment of its own that lies beside theirs in the cache."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.uv.builder import load_environment
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.environment import Environment
from tasks.domain.names import EnvId

_STEP = "service:"


@dataclass(frozen=True, slots=True)
class Service:
    """A program that tests talk to."""

    built: BuiltEnvironment

    @property
    def argv(self) -> tuple[str, ...]:
        """How it is started; `{port}` stands for the port that it is given."""
        return (str(self.built.python), *self.built.environment.test_args)

    @property
    def env(self) -> dict[str, str]:
        """The variables by which tests find it; `{port}` likewise."""
        split = (pair.split("=", 1) for pair in self.built.environment.env)
        return dict(split)


def services_of(built: BuiltEnvironment) -> tuple[Service, ...]:
    """What the steps of an environment name. Raises `NotFound` where one is not in the cache any more."""
    return tuple(
        Service(load_environment(built.root.with_name(env_id))) for env_id in services_named(built.environment)
    )


def services_named(environment: Environment) -> tuple[EnvId, ...]:
    """The environments of the services that run beside tests in this one."""
    steps = (step.removeprefix(_STEP) for step in environment.install if step.startswith(_STEP))
    return tuple(EnvId(step.partition("=")[2]) for step in steps)
