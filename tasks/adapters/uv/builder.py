"""Builds an environment from a plan: once per content, atomically, safe between processes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.folders import remove
from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.tool_environment import tool_environment
from tasks.adapters.uv.build_gate import GatedUv, gated_uv
from tasks.adapters.uv.install import install, move
from tasks.adapters.uv.interpreters import find_uv
from tasks.adapters.uv.lock import Locker, lock_key
from tasks.adapters.uv.plan import BuiltEnvironment, EnvironmentPlan, ExtensionSteps, Interpreter
from tasks.adapters.uv.process import Tool
from tasks.domain.environment import Environment
from tasks.domain.errors import BuildFailed, InfrastructureError, NotFound
from tasks.domain.names import EnvId
from tasks.domain.outcome import RunnerKind

ROW = "environment.json"
REBUILD = "remove its folder in the cache and it is built again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Builds environments below one folder. Third-party code of builds runs behind the build gate.

    The cache holds::

        locks/<key>.txt              hashed locks, by the resolver's input
        gates/<key>/                 interpreters for uv, see `build_gate.py`
        environments/<env_id>/       one finished environment each
        environments/.<env_id>.*     pending: a lock file, a half-built folder with its builder's process id (the
                                     compiler of a killed builder may still write into its own)
    """

    cache: Path
    environ: Mapping[str, str]
    """Environment variables for uv, from `tool_environment`."""
    sandbox: Sandbox
    """Sandbox for builds."""
    scratch: Path
    """Folder for private copies during builds."""
    uv: Path | None = None
    """None for the uv installed with this project."""
    timeout_s: float = 1800.0
    """Time limit per command."""

    def gated(self, interpreter: Interpreter) -> GatedUv:
        """Return uv for environments of `interpreter`."""
        return gated_uv(
            Tool(self.uv or find_uv(), self.environ, self.timeout_s),
            sandbox=self.sandbox,
            scratch=self.scratch,
            cache=self.cache,
            interpreter=interpreter,
        )

    def lock(self, plan: EnvironmentPlan) -> str:
        """Return the plan's lock, resolved once per content. Raises `BuildFailed` or `InfrastructureError`."""
        locks = self.cache.absolute() / "locks"
        with file_lock(locks / f".{lock_key(plan)}.lock"):
            return Locker(self.gated(plan.interpreter), locks).lock(plan)

    def build(self, plan: EnvironmentPlan, checkout: Callable[[], Path]) -> BuiltEnvironment:
        """Return the plan's environment, building it if necessary.

        `checkout` is called only if the plan is `editable` and not built yet; it returns a writable folder with the
        sources. Raises `BuildFailed` if the build fails, `InfrastructureError` if a retry may help.
        """
        plan = self._with_tools(plan)
        lock = self.lock(plan)
        env_id = plan.env_id(lock)
        root = environment_root(self.cache, env_id)
        with file_lock(root.with_name(f".{env_id}.lock")):
            if not (root / ROW).is_file():
                self._build(plan, lock, env_id, checkout)
        return load_environment(root)

    def _with_tools(self, plan: EnvironmentPlan) -> EnvironmentPlan:
        """Return the plan with the environment for building its extension modules, which is built first."""
        if plan.extensions is None:
            return plan
        tools = self.build_tools(plan.extensions).environment.env_id
        return replace(plan, extensions=replace(plan.extensions, tools_id=tools))

    def build_tools(self, steps: ExtensionSteps) -> BuiltEnvironment:
        """Build the environment for the commands of `steps`. Raises as `build`."""
        return self.build(steps.tools, _no_checkout)

    def _build(self, plan: EnvironmentPlan, lock: str, env_id: EnvId, checkout: Callable[[], Path]) -> None:
        root = environment_root(self.cache, env_id)
        half = root.with_name(f".{env_id}.{os.getpid()}.half")
        for stale in (root, *root.parent.glob(f".{env_id}.*.half")):
            remove(stale)
        started = time.monotonic()
        try:
            install(self.gated(plan.interpreter), plan, lock, half, checkout)
            write_row(half / ROW, row_of(plan, lock, env_id, time.monotonic() - started))
            move(half, root)
        finally:
            remove(half)


def machine_builder(cache: Path, sandbox: Sandbox, scratch: Path) -> Builder:
    """Return a builder with this machine's registries, proxies and certificates."""
    return Builder(cache=cache, environ=tool_environment(os.environ), sandbox=sandbox, scratch=scratch)


def environment_root(cache: Path, env_id: EnvId) -> Path:
    """Return the folder of an environment, built or not."""
    return cache.absolute() / "environments" / env_id


def is_built(cache: Path, env_id: EnvId) -> bool:
    """Whether an environment is completely built."""
    return (environment_root(cache, env_id) / ROW).is_file()


def _no_checkout() -> Path:
    raise BuildFailed("tools are built from no checkout", hint="a plan for tools is not editable")


def load_environment(root: Path) -> BuiltEnvironment:
    """Return the environment in a folder. Raises `NotFound` if there is none."""
    if not (root / ROW).is_file():
        raise NotFound(f"environment {root.name} is not in the cache", hint="`swt validate` builds what is missing")
    row = read_row(root / ROW)
    python = root / "bin" / "python"
    return BuiltEnvironment(environment=row, root=root, python=python, interpreter=_behind(python, row))


def _behind(python: Path, row: Environment) -> Interpreter:
    """Return the interpreter to which an environment's `python` links."""
    target = python.resolve()
    if not target.is_file():
        raise InfrastructureError(f"environment {row.env_id} has lost its CPython {row.python_full}", hint=REBUILD)
    return Interpreter(path=target, version=row.python_full, base_prefix=target.parent.parent)


def row_of(plan: EnvironmentPlan, lock: str, env_id: EnvId, seconds: float) -> Environment:
    """Return the row of a newly built environment."""
    return Environment(
        env_id=env_id,
        repo=plan.repo,
        python=plan.interpreter.minor,
        python_full=plan.interpreter.version,
        lock=lock,
        install=plan.steps,
        exclude_newer=plan.exclude_newer,
        runner=plan.runner,
        test_args=plan.test_args,
        env=plan.env,
        source_roots=plan.source_roots,
        recipe=plan.recipe,
        built_at=datetime.now(UTC),
        build_seconds=round(seconds, 3),
    )


def write_row(path: Path, row: Environment) -> None:
    """Write the row into the environment's folder, as JSON with ISO timestamps."""
    path.write_text(json.dumps(asdict(row), default=_iso, indent=1), encoding="utf-8")


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} does not belong in an environment row")


def read_row(path: Path) -> Environment:
    """Read a row written by `write_row`. Raises `InfrastructureError` if the file is torn."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        newer = facts.pop("exclude_newer")
        facts["exclude_newer"] = datetime.fromisoformat(newer) if newer else None
        facts["built_at"] = datetime.fromisoformat(facts["built_at"])
        facts["runner"] = RunnerKind(facts["runner"])
        kept: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
        }
        return Environment(**kept)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InfrastructureError(f"environment {path.parent.name} is damaged: {error}", hint=REBUILD) from error
