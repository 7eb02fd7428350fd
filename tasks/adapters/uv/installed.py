"""Finds an earlier environment by its row."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tasks.adapters.extensions.products import products_for
from tasks.adapters.uv.host_environment import RECIPE, host_interpreter
from tasks.adapters.uv.plan import BuiltEnvironment, Interpreter
from tasks.domain.environment import Environment
from tasks.domain.errors import InfrastructureError


def installed(
    cache: Path, row: Environment, interpreters: Iterable[Interpreter], base_commit: str, patches: Iterable[str] = ()
) -> BuiltEnvironment:
    """Return the environment of `row`, with the additional files for one code state.

    The code state is the base commit with `patches` applied, without tests. Raises `InfrastructureError` if a folder,
    an interpreter or extension modules are missing.
    """
    extensions = products_for(cache, row, base_commit, patches)
    return replace(_environment(cache, row, interpreters), extensions=extensions)


def _environment(cache: Path, row: Environment, interpreters: Iterable[Interpreter]) -> BuiltEnvironment:
    if row.recipe == RECIPE:
        interpreter = host_interpreter()
        return BuiltEnvironment(
            environment=row, root=Path(sys.prefix), python=Path(sys.executable), interpreter=interpreter
        )
    root = cache.absolute() / "environments" / row.env_id
    fitting = [found for found in interpreters if found.version == row.python_full]
    if not fitting or not (root / "bin" / "python").exists():
        missing = f"CPython {row.python_full}" if not fitting else str(root)
        raise InfrastructureError(f"environment {row.env_id}: {missing} is gone", hint="evaluate again: it is rebuilt")
    return BuiltEnvironment(environment=row, root=root, python=root / "bin" / "python", interpreter=fitting[0])
