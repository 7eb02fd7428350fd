"""What the build gate costs: the same environment built through it and, as trusted code, without it.

    python -m benchmarks.build_gate --python 3.9 --rounds 3

Each build starts with an empty cache, from the package registry of this machine. All packages are source distributions.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measured import cost_of, machine
from tasks.adapters.sandbox.select import pick as pick_sandbox
from tasks.adapters.tool_environment import tool_environment
from tasks.adapters.uv.builder import Builder
from tasks.adapters.uv.interpreters import machine_interpreters, pick
from tasks.adapters.uv.plan import EnvironmentPlan
from tasks.domain.names import RepoName
from tasks.domain.outcome import RunnerKind, SandboxKind

PACKAGES = ("docopt==0.6.2", "wrapt==1.12.1", "mypy-extensions==0.4.4", "python-memcached==1.59")
TIMEOUT_S = 600.0
KINDS = {"gate": None, "direct": SandboxKind.PROCESS}

app = typer.Typer()


@app.command()
def measure(
    python: Annotated[str, typer.Option(help="Minor version of the interpreter.")] = "3.9",
    rounds: Annotated[int, typer.Option(help="Builds of each kind.")] = 3,
) -> None:
    """Build the environment in turns and print CPU seconds and their ratio."""
    typer.echo(machine())
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, costs in spent.items():
            costs.append(_cost(kind, python))
    medians = {kind: statistics.median(costs) for kind, costs in spent.items()}
    for kind, costs in spent.items():
        typer.echo(f"{kind:6} {' '.join(f'{cost:.2f}' for cost in costs)} CPU s, median {medians[kind]:.2f}")
    typer.echo(f"ratio  {medians['gate'] / medians['direct']:.2f}")


def _cost(kind: str, python: str) -> float:
    with tempfile.TemporaryDirectory(prefix="swt-build-") as name:
        argv = [sys.executable, "-m", "benchmarks.build_gate", "build", kind, python, name]
        log = Path(name) / "log"
        cost = cost_of(argv, log=log, timeout=TIMEOUT_S)
        if cost.exit_code:
            raise SystemExit(log.read_text())
        return cost.cpu_s


@app.command()
def build(kind: str, python: str, folder: Path) -> None:
    """Build the environment once, below `folder`."""
    builder = Builder(
        cache=folder / "cache",
        environ=tool_environment(os.environ) | {"UV_CACHE_DIR": str(folder / "uv")},
        sandbox=pick_sandbox(KINDS[kind], trusted=kind == "direct", base=folder),
        scratch=folder / "scratch",
    )
    builder.build(
        EnvironmentPlan(
            repo=RepoName("owner/benchmark"),
            version=None,
            rung="recipe",
            recipe="benchmark",
            interpreter=pick(machine_interpreters(), python),
            requirements=PACKAGES,
            exclude_newer=datetime(2024, 3, 1, tzinfo=UTC),
            editable=False,
            source_roots=("",),
            runner=RunnerKind.PYTEST,
        ),
        Path,
    )


if __name__ == "__main__":
    app()
