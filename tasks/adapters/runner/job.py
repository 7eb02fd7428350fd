"""What the runner inside the sandbox is told, and how it is started."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from tasks.domain.names import RepoPath, content_key
from tasks.domain.outcome import CaseOrder, RunnerKind, Tracer
from tasks.domain.run import PathRange, Watch

INSIDE = Path(__file__).parent / "inside"
"""Our runner: plain modules for CPython 3.6 to 3.13, standard library only. Mounted read-only into the sandbox."""

SELECTING = Path(__file__).parent / "selecting"
"""What runs some cases and no others with it: apart from it, since the runner's source is part of every run's key."""

MAIN = "swt_main.py"
SOME_MAIN = "swt_some_main.py"
CONFIG = "config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerJob:
    """One set of test files to run on one checkout."""

    kind: RunnerKind
    files: tuple[RepoPath, ...]
    test_args: tuple[str, ...] = ()
    """Extra arguments for the repository's own runner."""
    cases: tuple[str, ...] = ()
    """Ids of the cases to run; all where it is empty."""
    source_roots: tuple[str, ...] = ("",)
    pythonpath: bool = False
    """Put the source roots on the import path, for environments in which the project itself is not installed."""
    watch: tuple[Watch, ...] = ()
    """Lines that its report is to tell of; the sandbox does not get them."""
    probe: tuple[PathRange, ...] = ()
    """Files that get probes; those of `watch` where it is empty."""
    tracer: Tracer = Tracer.PROBE
    seed: int | None = 0
    """For runners that draw random numbers (sympy); null leaves it to them."""
    order: CaseOrder = CaseOrder.GIVEN
    order_seed: int | None = None
    """What a shuffle starts from; it needs one."""
    coverage_path: PurePosixPath | None = None
    """Folder in the sandbox that holds `coverage`; null where the environment has it. For the coverage tracer only."""

    @property
    def probed(self) -> tuple[PathRange, ...]:
        return self.probe or tuple(PathRange(first=one.path, end=f"{one.path}\0") for one in self.watch)


def write_job(folder: Path, job: RunnerJob, report: PurePosixPath) -> Path:
    """Write the configuration into `folder`; `report` is the report file as the sandbox sees it. Returns its path."""
    config = {
        "kind": job.kind.value,
        "files": list(job.files),
        "test_args": list(job.test_args),
        "cases": list(job.cases),
        "runner": str(INSIDE),
        "source_roots": list(job.source_roots),
        "pythonpath": job.pythonpath,
        "probe": [[one.first, one.end] for one in job.probed],
        "tracer": job.tracer.value,
        "seed": job.seed,
        "order": job.order.value,
        "order_seed": job.order_seed,
        "coverage_path": str(job.coverage_path) if job.coverage_path else "",
        "report": str(report),
    }
    path = folder / CONFIG
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return path


def runner_argv(python: str, inside: str, config: str) -> tuple[str, ...]:
    """The command, with all three paths as the sandbox sees them; its current folder is the root of the checkout."""
    return (python, str(PurePosixPath(inside) / MAIN), config)


@cache
def runner_version() -> str:
    """Content key of the runner's source: part of every run's key."""
    sources = sorted(INSIDE.rglob("*.py"))
    return content_key("runner", [[path.name, path.read_text(encoding="utf-8")] for path in sources])
