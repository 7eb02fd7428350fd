"""The running interpreter as an environment, for the bundled demo and for tests, without network."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tasks.adapters.uv.plan import BuiltEnvironment, Interpreter
from tasks.domain.environment import Environment
from tasks.domain.names import EnvId, RepoName, content_key
from tasks.domain.outcome import RunnerKind

RECIPE = "host"


def host_environment(
    repo: RepoName,
    *,
    source_roots: tuple[str, ...] = ("",),
    runner: RunnerKind = RunnerKind.PYTEST,
    test_args: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
) -> BuiltEnvironment:
    """Return the running interpreter with its installed packages as an environment; `env` holds `NAME=value`.

    `env_id` depends on the arguments and on the names and versions of the installed packages.
    """
    interpreter = host_interpreter()
    lock = installed_lock()
    env_id = EnvId(content_key("host", repo, interpreter.version, lock, source_roots, str(runner), test_args, env))
    row = Environment(
        env_id=env_id,
        repo=repo,
        python=interpreter.minor,
        python_full=interpreter.version,
        lock=lock,
        install=(RECIPE,),
        exclude_newer=None,
        runner=runner,
        test_args=test_args,
        env=env,
        source_roots=source_roots,
        recipe=RECIPE,
        built_at=datetime.now(UTC),
        build_seconds=0.0,
    )
    return BuiltEnvironment(
        environment=row, root=Path(sys.prefix), python=Path(sys.executable), interpreter=interpreter
    )


def host_interpreter() -> Interpreter:
    """Return the running interpreter, including its virtual environment."""
    return Interpreter(path=Path(sys.executable), version=platform.python_version(), base_prefix=Path(sys.base_prefix))


@cache
def installed_lock() -> str:
    """Return `name==version` of every installed distribution, sorted, without hashes.

    Cached per process: modules that it imported do not change.
    """
    found = importlib.metadata.distributions()
    return "".join(sorted({f"{one.metadata['Name'].lower()}=={one.version}\n" for one in found}))
