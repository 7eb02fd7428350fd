"""Common parts of isolating sandboxes: paths inside, the job's environment and its start."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tasks.adapters.sandbox.base import TESTBED, Job

OUTBOX = PurePosixPath("/swt/out")
HOME = PurePosixPath("/home/swt")
TMP = PurePosixPath("/tmp")  # noqa: S108 - inside
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

SHM_BYTES = 64 << 20
"""Size of /dev/shm, the only writable in-memory file system inside."""


def guest_path(job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
    """Return the path below /testbed or /swt/out. Raises `ValueError` if the path is in neither folder."""
    for folder, seen in ((outbox, OUTBOX), (checkout, TESTBED)):
        if job_path.is_relative_to(folder):
            return seen / job_path.relative_to(folder)
    raise ValueError(f"{job_path} is neither in the checkout {checkout} nor in the outbox {outbox}")


def command(job: Job) -> list[str]:
    """Return the job's argv, started in the checkout with only the job's environment."""
    own = {"HOME": str(HOME), "TMPDIR": str(TMP), "PATH": PATH, "LANG": "C.UTF-8"}
    variables = [f"{name}={value}" for name, value in (own | dict(job.env)).items()]
    # `env` would parse a program with a "=" in its name as a variable.
    start = ("/bin/sh", "-c", 'exec "$0" "$@"') if "=" in job.argv[0] else ()
    return ["/usr/bin/env", "-i", "-C", str(TESTBED), *variables, *start, *job.argv]
