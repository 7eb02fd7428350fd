"""Do runs leave anything behind? Counts of the machine before and after many of them, sandbox by sandbox.

python -m benchmarks.sandbox_growth --runs 10000 --workers 4 --sandbox docker
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.measured import machine, text_table
from tasks.adapters.sandbox.base import Job, Sandbox
from tasks.adapters.sandbox.docker.container import RUN
from tasks.adapters.sandbox.docker.engine import connected, docker_settings
from tasks.adapters.sandbox.label import MARKER
from tasks.adapters.sandbox.select import pick
from tasks.adapters.sandbox.supervisor import tree
from tasks.domain.errors import SandboxError
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits

SCRIPT = "echo $$ > here; mktemp >/dev/null; touch /swt/out/report 2>/dev/null; sleep 6057.5 & exit 3"
"""What a run does: files in every folder that it may write, and a process that outlives it."""

SETTLE_S = 20.0
ENGINE = ("dockerd", "containerd", "podman")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a machine has at one moment. The engine's own figures are null where none answers."""

    processes: int
    """Of this process's runs, by their mark or by what they start."""
    mounts: int
    open_files: int
    """Of this process."""
    temporary: int
    """Files and folders where runs have theirs."""
    containers: int | None
    images: int | None
    volumes: int | None
    engine_mb: int | None
    """Resident memory of the engine's processes."""


def counted(base: Path) -> Counted:
    """The machine as it is; `base` is where private folders of runs are made."""
    containers, images, volumes = _engine()
    return Counted(
        processes=sum(_ours(process.pid) for process in tree.everyone()),
        mounts=len(Path("/proc/self/mountinfo").read_text().splitlines()),
        open_files=len(list(Path("/proc/self/fd").iterdir())),
        temporary=sum(1 for _ in base.rglob("*")),
        containers=containers,
        images=images,
        volumes=volumes,
        engine_mb=None if containers is None else _engine_memory(),
    )


def grown(before: Counted, after: Counted) -> dict[str, int]:
    """What is more than it was; the engine's memory is left to be read, since it is a cache as well."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in asdict(before) if name != "engine_mb")
    return {name: now - then for name, then, now in pairs if then is not None and now is not None and now > then}


def run_many(sandbox: Sandbox, base: Path, runs: int, workers: int) -> float:
    """Seconds for so many runs, so many at once."""
    began = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(lambda _: _once(sandbox, base), range(runs)):
            pass
    return time.monotonic() - began


def settled(base: Path, before: Counted) -> Counted:
    """The counts once nothing is on its way out any more."""
    deadline = time.monotonic() + SETTLE_S
    while grown(before, after := counted(base)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return after


def _once(sandbox: Sandbox, base: Path) -> None:
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        for part in ("checkout", "out"):
            (folder / part).mkdir()
        job = Job(
            argv=("sh", "-c", SCRIPT),
            checkout=folder / "checkout",
            outbox=folder / "out",
            limits=Limits(wall_s=60),
            log=folder / "log",
        )
        finished = sandbox.run(job)
        if finished.exit_code != 3:
            raise SandboxError(f"a run ended with {finished}: {job.log.read_text()}")


def _ours(pid: int) -> bool:
    try:
        return f"{MARKER}=swt-run-{os.getpid()}-".encode() in Path(f"/proc/{pid}/environ").read_bytes() or _sleeper(pid)
    except OSError:
        return False


def _sleeper(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x006057.5\0"


def _engine() -> tuple[int | None, int | None, int | None]:
    try:
        with connected(docker_settings(os.environ)) as client:
            volumes = client.volumes()["Volumes"] or []
            return sum(map(_started_here, client.containers(all=True))), len(client.images(all=True)), len(volumes)
    except SandboxError:
        return None, None, None


def _started_here(container: dict[str, Any]) -> bool:
    return str(container["Labels"].get(RUN, "")).startswith(f"swt-run-{os.getpid()}-")


def _engine_memory() -> int:
    members = (process for process in tree.everyone() if _name(process.pid).startswith(ENGINE))
    return sum(process.rss for process in members) >> 20


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _rows(before: Counted, after: Counted) -> Iterator[tuple[str, str, str]]:
    for field in fields(Counted):
        yield field.name, str(getattr(before, field.name)), str(getattr(after, field.name))


def main(
    runs: Annotated[int, typer.Option(help="How many.")] = 1000,
    workers: Annotated[int, typer.Option(help="How many at once.")] = 4,
    sandbox: Annotated[SandboxKind, typer.Option(help="In which sandbox.")] = SandboxKind.DOCKER,
) -> None:
    """Run many small jobs, and print what the machine had before and has after; exit code 1 if anything grew."""
    with tempfile.TemporaryDirectory(prefix="swt-growth-") as name:
        base = Path(name)
        chosen = pick(sandbox, trusted=True, base=base)
        run_many(chosen, base, workers, workers)
        before = counted(base)
        seconds = run_many(chosen, base, runs, workers)
        after = settled(base, before)
    print(f"{machine()}\n\n{runs} runs in {sandbox}, {workers} at once: {seconds / runs:.3f} s each\n")
    print(text_table(("what", "before", "after"), list(_rows(before, after))))
    if more := grown(before, after):
        print(f"grew: {json.dumps(more)}", file=sys.stderr)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
