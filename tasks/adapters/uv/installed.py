"""An environment that was built earlier, found again from its row."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tasks.adapters.uv.host import RECIPE, host_interpreter
from tasks.adapters.uv.plan import BuiltEnvironment, Interpreter
from tasks.domain.environment import Environment
from tasks.domain.errors import InfrastructureError


def installed(cache: Path, row: Environment, interpreters: Iterable[Interpreter]) -> BuiltEnvironment:
    """The environment of `row`; `InfrastructureError` where its folder or its interpreter is gone."""
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
