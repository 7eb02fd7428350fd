"""The running interpreter as an environment: for the bundled demo and for tests, without any network."""

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
    """The interpreter that runs this, with all that is installed in it; `env` holds `NAME=value`.

    `env_id` comes from the arguments and from the names and versions of what is installed.
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
    """The interpreter that runs this, virtual environment included."""
    return Interpreter(path=Path(sys.executable), version=platform.python_version(), base_prefix=Path(sys.base_prefix))


@cache
def installed_lock() -> str:
    """`name==version` of every installed distribution, sorted; no hashes, since files on disk have none.

    Read once per process: what it has imported stays what it was.
    """
    found = importlib.metadata.distributions()
    return "".join(sorted({f"{one.metadata['Name'].lower()}=={one.version}\n" for one in found}))
