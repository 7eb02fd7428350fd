"""What a command costs that finds everything in the store: `swt evaluate golden nop`, three times over.

    python -m benchmarks.nothing_to_do --snapshot verified --instances ID --instances ID

Store, cache and scratch folder are those of the settings (`SWT_STORE` …). The first time may still have runs to make.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.measured import cost_of, machine
from benchmarks.own_plan import IMPORTS, SWT, TIMEOUT_S
from flows.interface.settings import PROJECT

TIMES = 3


def main(
    snapshot: Annotated[str, typer.Option(help="Its name.")],
    instances: Annotated[list[str], typer.Option(help="Instance ids; may be repeated.")],
    guards: Annotated[bool, typer.Option(help="With guard runs and confirmations, which have to be there too.")] = True,
) -> None:
    """Print the CPU seconds of each time, process tree and all, and of the imports alone."""
    plain = () if guards else ("--no-guards", "--no-confirm")
    chosen = [word for instance in instances for word in ("--instances", instance)]
    argv = [sys.executable, "-c", SWT, "evaluate", "golden", "nop", "--snapshot", snapshot, *plain, *chosen]
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        imports = [cost_of([sys.executable, "-c", IMPORTS], cwd=PROJECT, log=log, timeout=TIMEOUT_S) for _ in range(2)]
        costs = [cost_of(argv, cwd=PROJECT, log=log, timeout=TIMEOUT_S) for _ in range(TIMES)]
        (facts,) = [line for line in log.read_text().splitlines() if " runs, " in line][-1:]
    print(f"{machine()}\n{facts}")
    print(f"imports {imports[-1].cpu_s:.2f}; {len(instances)} instances: " + ", ".join(f"{c.cpu_s:.2f}" for c in costs))


if __name__ == "__main__":
    typer.run(main)
