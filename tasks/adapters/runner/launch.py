"""A checkout, an environment and a sandbox → the process that runs tests there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tasks.adapters.git.trees import untar
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.runner.job import INSIDE, RunnerJob, runner_argv, write_job
from tasks.adapters.sandbox.base import TESTBED, Job, Mount, Sandbox
from tasks.adapters.uv.plan import BuiltEnvironment, TextFile
from tasks.domain.run import Limits

REPORT = "report.jsonl"
"""The report's name in the outbox."""
SEED = 0
HASH_SEED = "PYTHONHASHSEED"
FIXED_ENV = (
    f"{HASH_SEED}={SEED}",
    "LANG=C.UTF-8",
    "LC_ALL=C.UTF-8",
    "PATH={environment}/bin:/usr/local/bin:/usr/bin:/bin",
)
"""What every test process sees, in every sandbox; an environment may say otherwise.

`{environment}` is the environment's folder: tests start `python` and `pytest` by name.
"""


def other_seed(pairs: tuple[str, ...], own: Iterable[str]) -> tuple[str, ...]:
    """`pairs` with another hash seed, the last value of a name counts; a seed that the environment asks for stays."""
    asked = any(pair.startswith(f"{HASH_SEED}=") for pair in own)
    return pairs if asked else (*pairs, f"{HASH_SEED}={SEED + 1}")


def complete(checkout: Path, built: BuiltEnvironment) -> None:
    """Give a checkout what a build would have left in it: generated files, and the modules that a compiler made."""
    write_generated(checkout, built.generated)
    if built.extensions:
        with built.extensions.archive.open("rb") as archive:
            untar(archive.fileno(), checkout)


def write_generated(checkout: Path, files: Iterable[TextFile]) -> None:
    """Write the files that a build would have left in the checkout, unless the commit has them."""
    for file in files:
        path = checkout / file.path
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
            os.utime(path, (FIXED_MTIME, FIXED_MTIME))


def process_env(
    pairs: Iterable[str], built: BuiltEnvironment, testbed: PurePosixPath, source_roots: Iterable[str]
) -> dict[str, str]:
    """The variables of a process in the environment; `pairs` are `NAME=value`.

    The environment points at /testbed; where the checkout is seen elsewhere, PYTHONPATH has to.
    """
    split = (pair.split("=", 1) for pair in pairs)
    env = {name: value.replace("{environment}", str(built.root)) for name, value in split}
    if testbed == TESTBED:
        return env
    return env | {"PYTHONPATH": ":".join(str(testbed / root) for root in source_roots)}


def environment_mounts(built: BuiltEnvironment) -> tuple[Mount, ...]:
    """What a process in the environment has to see of the machine."""
    return tuple(Mount(path, PurePosixPath(path), content=built.content(path)) for path in built.binds)


def runner_process(
    sandbox: Sandbox,
    built: BuiltEnvironment,
    job: RunnerJob,
    *,
    env: Iterable[str],
    limits: Limits,
    checkout: Path,
    outbox: Path,
    log: Path,
    network: bool = False,
) -> Job:
    """The environment's interpreter on our runner, with the checkout as its folder; the report is in the outbox."""

    def seen(path: Path) -> PurePosixPath:
        return sandbox.guest(path, checkout=checkout, outbox=outbox)

    config = write_job(outbox, job, report=seen(outbox / REPORT))
    return Job(
        argv=runner_argv(str(built.python), str(INSIDE), str(seen(config))),
        checkout=checkout,
        outbox=outbox,
        env=process_env(env, built, seen(checkout), job.source_roots),
        mounts=(*environment_mounts(built), Mount(INSIDE, PurePosixPath(INSIDE))),
        limits=limits,
        log=log,
        network=network,
        python=built.environment.python,
    )
