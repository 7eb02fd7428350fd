"""A checkout, an environment and a sandbox → the process that runs tests there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from compileall import compile_dir
from functools import cache
from pathlib import Path, PurePosixPath

from tasks.adapters.git.commits import FOLDER, ignore_made
from tasks.adapters.git.trees import untar
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.runner.job import INSIDE, SELECTING, SOME_MAIN, RunnerJob, runner_argv, write_job
from tasks.adapters.runner.seal import SEAL
from tasks.adapters.sandbox.base import TESTBED, Job, Mount, Sandbox
from tasks.adapters.uv.plan import BuiltEnvironment, TextFile
from tasks.adapters.uv.services import Service, services_of
from tasks.domain.run import Limits

REPORT = "report.jsonl"
"""The report's name in the outbox."""
SERVING = Path(__file__).parent / "serving"
"""Our starter of services: a plain module, standard library only. Mounted read-only into the sandbox."""
SERVICES = "services.json"
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
    """Give a checkout what a build would have left in it: generated files, and the modules that a compiler made. Its
    repository ignores them."""
    write_generated(checkout, built.generated)
    if built.extensions:
        with built.extensions.archive.open("rb") as archive:
            untar(archive.fileno(), checkout)
    if (checkout / FOLDER).is_dir():
        ignore_made(checkout, built.made)


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

    compile_runner()
    config = write_job(outbox, job, report=seen(outbox / REPORT))
    argv = runner_argv(str(built.python), str(INSIDE), str(seen(config)))
    folders: tuple[Path, ...] = (INSIDE,)
    if job.cases:
        argv, folders = (str(built.python), str(SELECTING / SOME_MAIN), str(seen(config))), (INSIDE, SELECTING)
    return environment_process(
        sandbox, built, argv, folders=folders, source_roots=job.source_roots, env=env, limits=limits,
        checkout=checkout, outbox=outbox, log=log, network=network,
    )  # fmt: skip


@cache
def compile_runner() -> None:
    """Leave bytecode of the runner beside it, for environments with the CPython that this is: nothing in the sandbox
    can write there, and to compile the runner takes a twentieth of a short run. An installation has it."""
    compile_dir(INSIDE, quiet=2)


def environment_process(
    sandbox: Sandbox,
    built: BuiltEnvironment,
    argv: tuple[str, ...],
    *,
    folders: tuple[Path, ...],
    source_roots: tuple[str, ...],
    env: Iterable[str],
    limits: Limits,
    checkout: Path,
    outbox: Path,
    log: Path,
    network: bool = False,
) -> Job:
    """A command in the environment, behind the services that it has; `folders` of ours are seen at their own places."""

    def seen(path: Path) -> PurePosixPath:
        return sandbox.guest(path, checkout=checkout, outbox=outbox)

    services = services_of(built)
    return Job(
        argv=(*_serving(services, outbox, seen), *argv),
        checkout=checkout,
        outbox=outbox,
        env=process_env(env, built, seen(checkout), source_roots),
        mounts=(*_all_mounts(built, services), *(Mount(folder, PurePosixPath(folder)) for folder in folders)),
        limits=limits,
        log=log,
        network=network,
        python=built.environment.python,
    )


def _serving(services: tuple[Service, ...], outbox: Path, seen: Callable[[Path], PurePosixPath]) -> tuple[str, ...]:
    """What stands before the command where there are services: it starts them, and becomes the command."""
    if not services:
        return ()
    path = outbox / SERVICES
    config = {"services": [{"argv": service.argv, "env": service.env} for service in services]}
    path.write_text(json.dumps(config), encoding="utf-8")
    return (str(services[0].built.python), str(SERVING / "swt_serve.py"), str(seen(path)))


def _all_mounts(built: BuiltEnvironment, services: tuple[Service, ...]) -> tuple[Mount, ...]:
    """Those of the environment, and of the services and what starts them; each once."""
    if not services:
        return environment_mounts(built)
    mounts = [mount for one in (built, *(service.built for service in services)) for mount in environment_mounts(one)]
    return (*dict.fromkeys(mounts), Mount(SERVING, PurePosixPath(SERVING)))


def never_started(outbox: Path, seal: bytes) -> bool:
    """Whether the runner never came to read its seal, which it does before any code under test runs: whatever ended the
    job was ours, such as a service that did not start. The code under test does not know the seal."""
    path = outbox / SEAL
    return path.is_file() and path.read_bytes() == seal
