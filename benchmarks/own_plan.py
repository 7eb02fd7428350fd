"""Our way to judge candidates, measured from outside: `swt evaluate` as anybody would type it, process tree and all."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measured import cost_of
from flows.interface.settings import PROJECT
from tasks.adapters.store.tables.store import Store
from tasks.domain.outcome import RunStatus, Tracer
from tasks.domain.run import Run

TIMEOUT_S = 4 * 3600.0
SWT = "from flows.interface.cli import main; main()"
"""The command of the checkout that this file belongs to, whatever is installed."""
IMPORTS = "import flows.interface.cli, flows.evaluate, flows.interface.commands.queries, pandas"
STAGES = {
    "references": ("golden", "--no-guards", "--no-confirm"),
    "candidates": (None, "--no-guards", "--no-confirm"),
    "guards": (None,),
    "again": (None,),
}
"""What `swt evaluate` is asked for, None being the predictions: the golden tests of every instance; the candidates,
with those references in the store; the guard runs of their successes; all of that once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One call of `swt evaluate`."""

    cpu_s: float
    """Of everything: the command, its supervisors, its test processes."""
    tests_s: Mapping[str, float]
    """Of that, in test processes, by instance."""
    processes: Mapping[str, int]
    """Test processes started, by instance."""
    confirming: Mapping[str, int]
    """Of those, untraced repeats."""

    @property
    def own_s(self) -> float:
        """Everything but the test processes: planning, trees, patches, supervisors, the store, the views."""
        return self.cpu_s - sum(self.tests_s.values())


def run_stages(work: Path, cache: Path, snapshot: str, instances: Sequence[str], predictions: Path) -> dict[str, Stage]:
    """Every stage in order, from a store that knows the snapshot and the environments and no run."""
    env = _environment(work, cache)
    _warm_up(work, env)
    stages: dict[str, Stage] = {}
    known: set[str] = set()
    chosen = [word for instance in instances for word in ("--instances", instance)]
    for name, words in STAGES.items():
        asked = [str(predictions) if word is None else word for word in words]
        argv = [sys.executable, "-c", SWT, "evaluate", *asked, "--snapshot", snapshot, *chosen]
        cost = cost_of(argv, cwd=PROJECT, env=env, log=work / f"{name}.log", timeout=TIMEOUT_S)
        if cost.exit_code:
            raise SystemExit(f"{name}: exit code {cost.exit_code}, see {work / name}.log")
        rows = [row for row in Store(env["SWT_STORE"]).read(Run) if row.run_key not in known]
        known |= {row.run_key for row in rows}
        stages[name] = _stage(cost.cpu_s, rows)
        print(f"{name}: {len(rows)} runs, {cost.cpu_s:.1f} CPU s", file=sys.stderr)
    return stages


def _warm_up(work: Path, env: Mapping[str, str]) -> None:
    """An installed program has its bytecode; here it may have to be compiled first."""
    cost_of([sys.executable, "-c", IMPORTS], cwd=PROJECT, env=env, log=work / "imports.log", timeout=TIMEOUT_S)


def _stage(cpu_s: float, rows: Sequence[Run]) -> Stage:
    started = [row for row in rows if row.status is not RunStatus.UNAPPLIED]
    tests: Counter[str] = Counter()
    for row in started:
        tests[row.instance_id] += row.cpu_s or 0.0  # type: ignore[assignment]
    return Stage(
        cpu_s=cpu_s,
        tests_s=dict(tests),
        processes=dict(Counter(str(row.instance_id) for row in started)),
        confirming=dict(Counter(str(row.instance_id) for row in started if row.tracer is Tracer.NONE)),
    )


def own_cache(work: Path, cache: Path) -> Path:
    """A cache that has the mirrors and environments of `cache`, and no packed tree."""
    own = work / "cache"
    own.mkdir(parents=True, exist_ok=True)
    for name in ("mirrors", "environments", "locks"):
        if not (own / name).is_symlink():
            (own / name).symlink_to((cache / name).absolute())
    return own


def store_of(work: Path) -> Path:
    """The store that the stages write to."""
    return work / "store"


def forget_trees(work: Path) -> None:
    """Packed trees count as ours: they are made again."""
    shutil.rmtree(work / "cache" / "trees", ignore_errors=True)


def _environment(work: Path, cache: Path) -> dict[str, str]:
    forget_trees(work)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {
        "PYTHONPYCACHEPREFIX": str(work / "bytecode"),
        "SWT_STORE": str(store_of(work)),
        "SWT_DATABASE": str(work / "swt.duckdb"),
        "SWT_CACHE": str(own_cache(work, cache)),
    }


def save(stages: Mapping[str, Stage], path: Path) -> None:
    path.write_text(json.dumps({name: asdict(stage) for name, stage in stages.items()}, indent=1))


def load(path: Path) -> dict[str, Stage]:
    return {name: Stage(**stage) for name, stage in json.loads(path.read_text()).items()}
