"""What every isolating sandbox shows a job of itself: where things are, its environment, how it is started."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tasks.adapters.sandbox.base import TESTBED, Job

OUTBOX = PurePosixPath("/swt/out")
HOME = PurePosixPath("/home/swt")
TMP = PurePosixPath("/tmp")  # noqa: S108 - inside
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

SHM_BYTES = 64 << 20
"""Size of /dev/shm, the only writable memory file system inside."""


def guest_path(job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
    """Below /testbed or /swt/out; `ValueError` if the path is in neither folder."""
    for folder, seen in ((outbox, OUTBOX), (checkout, TESTBED)):
        if job_path.is_relative_to(folder):
            return seen / job_path.relative_to(folder)
    raise ValueError(f"{job_path} is neither in the checkout {checkout} nor in the outbox {outbox}")


def command(job: Job) -> list[str]:
    """The job's own argv, started in the checkout with an environment that holds nothing but the job's."""
    own = {"HOME": str(HOME), "TMPDIR": str(TMP), "PATH": PATH, "LANG": "C.UTF-8"}
    variables = [f"{name}={value}" for name, value in (own | dict(job.env)).items()]
    # To `env` a program with a "=" in its name would be one more variable.
    start = ("/bin/sh", "-c", 'exec "$0" "$@"') if "=" in job.argv[0] else ()
    return ["/usr/bin/env", "-i", "-C", str(TESTBED), *variables, *start, *job.argv]
