"""The container sandbox, for any engine on this machine with Docker's API."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.adapters.sandbox import scratch as folders
from tasks.adapters.sandbox.base import Finished, Job
from tasks.adapters.sandbox.docker.container import Container, held_open, orphans, remove
from tasks.adapters.sandbox.docker.engine import DockerSettings, connected
from tasks.adapters.sandbox.docker.layers import ImageLayers
from tasks.adapters.sandbox.docker.watch import WALL, ContainerEnd, ContainerWatch
from tasks.adapters.sandbox.guest import guest_path
from tasks.adapters.sandbox.scratch import Scratch, scratch
from tasks.adapters.sandbox.supervise import from_shell
from tasks.domain.errors import SandboxError
from tasks.domain.outcome import SandboxKind


@dataclass(frozen=True, slots=True)
class Docker:
    """Runs each job in a container of its own (Docker 19.03 or newer, Podman 4 or newer)."""

    base: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Folder for the private folders of runs."""

    settings: DockerSettings = field(default_factory=DockerSettings)

    @property
    def kind(self) -> SandboxKind:
        return SandboxKind.DOCKER

    @property
    def isolates(self) -> bool:
        return True

    def overlays(self, bases: Path) -> bool:  # noqa: ARG002 - no overlays here
        return False

    def guest(self, job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
        """Return the path below /testbed or /swt/out. Raises `ValueError` if the path is in neither folder."""
        return guest_path(job_path, checkout=checkout, outbox=outbox)

    def run(self, job: Job) -> Finished:
        with connected(self.settings) as client, scratch(self.base) as made:
            image = ImageLayers(settings=self.settings, locks=self.base).image(client, job)
            try:
                with held_open(client, image, job, made, self.settings.cpus) as container:
                    return _followed(container, job, made, image)
            finally:
                folders.keep_plain_files(job.outbox)

    def sweep(self) -> int:
        """Remove containers of dead flows, and their folders; return their number."""
        with connected(self.settings) as client:
            left = orphans(client)
            for container in left:
                remove(client, container)
        return len(left) + folders.sweep(self.base)

    def why_not(self) -> str:
        """Run a test job; return the reason for a failure in one line, empty if it works."""
        with tempfile.TemporaryDirectory(dir=self.base) as name:
            folder = Path(name)
            for part in ("checkout", "outbox"):
                (folder / part).mkdir()
            job = Job(
                argv=("touch", "seen"), checkout=folder / "checkout", outbox=folder / "outbox", log=folder / "log"
            )
            try:
                code = self.run(job).exit_code
            except SandboxError as problem:
                return str(problem)
            if code or not (job.checkout / "seen").exists():
                return f"a first try ended with exit code {code} and without its file"
            return ""


def _followed(container: Container, job: Job, made: Scratch, image: str) -> Finished:
    roots = tuple(str(root) for root in (job.checkout, job.outbox, made.home, made.tmp))
    with container.started(job) as (process, stream):
        watch = ContainerWatch(job, stream, container.cgroup, roots)
        seen = watch.run()
        if seen.limit:
            return _finished(None, seen.limit, seen, image)
        code = from_shell(_code(container, process))
        limit = watch.late_limit(code) if code else ""
        return _finished(code, limit, seen, image)


def _code(container: Container, process: str) -> int:
    code: Any = container.exit_code(process)
    if code is None:
        raise SandboxError("docker: the engine does not say how the job ended", hint="see the engine's own log")
    return int(code)


def _finished(code: int | None, limit: str, seen: ContainerEnd, image: str) -> Finished:
    over = limit == WALL
    return Finished(
        exit_code=code,
        timed_out=over,
        limit="" if over else limit,
        log_truncated=seen.log_truncated,
        wall_s=seen.wall_s,
        cpu_s=seen.cpu_s,
        image=image,
    )
