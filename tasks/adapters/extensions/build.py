"""One build of extension modules: a checkout, a sandbox without network, and the files that it added.

Only the base commit and the golden patch are ever compiled, never a candidate's code: so the compiler cache, which one
build leaves for the next of the same repository, is no way from a candidate to a verdict.
"""

from __future__ import annotations

import os
import shlex
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.extensions.products import FOLDER, Products, archive_path, find, keep
from tasks.adapters.extensions.toolchain import missing, toolchain
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.paths import too_long
from tasks.adapters.runner.launch import environment_mounts, write_generated
from tasks.adapters.sandbox.base import Finished, Job, Mount, Sandbox
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.uv.plan import BuiltEnvironment, ExtensionSteps
from tasks.domain.errors import BuildFailed, InfrastructureError
from tasks.domain.names import RepoPath, repo_folder
from tasks.domain.run import Limits

LIMITS = Limits(wall_s=7200.0, memory_mb=6144, processes=256, disk_mb=6144, log_mb=32)
TAIL_LINES = 40
TAIL_CHARACTERS = 4000
COMPILER_CACHE = PurePosixPath("/swt/ccache")
CACHE_SIZE = "4G"
MASQUERADE = "/usr/lib/ccache"
"""Where Debian's ccache stands in for the compilers; where it is not installed, they are found behind it."""
_LEFT_OUT = frozenset({".a", ".c", ".cc", ".cpp", ".h", ".o", ".pyc"})
"""What a build makes on its way: nothing of it is read by tests, and it is most of what a build writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where builds are made, and by what."""

    cache: Path
    scratch: Path
    sandbox: Sandbox


def build_once(
    place: Workplace, key: str, steps: ExtensionSteps, tools: BuiltEnvironment, fill: Callable[[Path], None]
) -> Products:
    """What the build under `key` leaves, built unless it is there; one process at a time.

    `fill` fills a folder with the code state. A killed build leaves nothing that counts, and what it compiled is in the
    compiler cache. Raises `BuildFailed` with the end of the log, `InfrastructureError` where it may be tried again.
    """
    with file_lock(archive_path(place.cache, key).with_suffix(".lock")):
        found = find(place.cache, key)
        return found or _build(place, key, steps, tools, fill)


def _build(
    place: Workplace, key: str, steps: ExtensionSteps, tools: BuiltEnvironment, fill: Callable[[Path], None]
) -> Products:
    with spare_folder(place.scratch) as folder:
        checkout, outbox, log = folder / "checkout", folder / "out", folder / "log"
        outbox.mkdir()
        fill(checkout)
        write_generated(checkout, steps.files)
        before = frozenset(_files(checkout))
        finished = place.sandbox.run(_job(place, steps, tools, checkout, outbox, log))
        tail = _tail(log)
        _check(finished, tail, steps)
        added = tuple(path for path in _files(checkout) if path not in before and _is_kept(path))
        archive = archive_path(place.cache, key)
        size = _pack(checkout, added, archive)
    products = Products(
        archive=archive,
        paths=added,
        tools=tools.environment.env_id,
        size=size,
        cpu_s=round(finished.cpu_s or 0.0, 2),
        wall_s=round(finished.wall_s, 2),
        toolchain=toolchain(steps.libraries),
        log=tail,
    )
    keep(place.cache, key, products)
    return products


def _job(
    place: Workplace, steps: ExtensionSteps, tools: BuiltEnvironment, checkout: Path, outbox: Path, log: Path
) -> Job:
    """Every command in turn, until one fails."""
    repo = repo_folder(tools.environment.repo)  # what one repository's build leaves there, no other one reads
    objects = place.cache.absolute() / FOLDER / "ccache" / repo
    objects.mkdir(parents=True, exist_ok=True)
    objects.chmod(0o777)  # every build has a user of its own, and each leaves objects for the others
    seen = COMPILER_CACHE if place.sandbox.isolates else PurePosixPath(objects)
    return Job(
        argv=("/bin/sh", "-ec", "\n".join(shlex.join(command) for command in steps.commands)),
        checkout=checkout,
        outbox=outbox,
        env=_env(tools, seen) | dict(pair.split("=", 1) for pair in steps.env),
        mounts=(*environment_mounts(tools), Mount(objects, seen, writable=True)),
        limits=LIMITS,
        log=log,
        python=tools.environment.python,
    )


def _env(tools: BuiltEnvironment, objects: PurePosixPath) -> dict[str, str]:
    return {
        "PATH": f"{tools.root}/bin:{MASQUERADE}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": str(FIXED_MTIME),
        "CCACHE_DIR": str(objects),
        "CCACHE_MAXSIZE": CACHE_SIZE,
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_UMASK": "000",
    }


def _check(finished: Finished, tail: str, steps: ExtensionSteps) -> None:
    if finished.timed_out:
        message = f"building the extension modules took longer than {LIMITS.wall_s:.0f} s"
        raise InfrastructureError(message, hint="try again: what was compiled is kept")
    if finished.limit:
        message = f"building the extension modules passed the limit of {finished.limit}:\n{tail}"
        raise BuildFailed(message, hint="the recipe's build asks for more than a build may take")
    if finished.exit_code != 0:
        message = f"building the extension modules failed (exit code {finished.exit_code}{_lacking(steps)}):\n{tail}"
        raise BuildFailed(message, hint="see the recipe's build and build_requires; `swt doctor` says what is missing")


def _lacking(steps: ExtensionSteps) -> str:
    """What this machine seems to lack. Asked where a build has failed only: pkg-config may be all that is missing."""
    lacking = ", ".join(missing(steps.libraries))
    return f"; not found on this machine: {lacking}" if lacking else ""


def _tail(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])[-TAIL_CHARACTERS:]


def _files(checkout: Path) -> Iterator[RepoPath]:
    """Every plain file of a checkout, sorted. Links are none: one that a build made could lead anywhere."""
    for at, folders, names in os.walk(checkout):
        above = Path(at).relative_to(checkout)
        folders[:] = sorted(name for name in folders if not too_long((above / name).as_posix()))
        for name in sorted(names):
            path = Path(at, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield RepoPath(path.relative_to(checkout).as_posix())


def _is_kept(path: RepoPath) -> bool:
    pure = PurePosixPath(path)
    return pure.parts[0] != "build" and pure.suffix not in _LEFT_OUT and "__pycache__" not in pure.parts


def _pack(checkout: Path, paths: Iterable[RepoPath], archive: Path) -> int:
    """Pack files of a checkout, byte for byte the same for the same files; their size in bytes together."""
    part = archive.with_suffix(".part")
    size = 0
    with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in paths:
            member = tarfile.TarInfo(path)
            member.size = (checkout / path).stat().st_size
            member.mode, member.mtime = 0o755 if path.endswith(".so") else 0o644, FIXED_MTIME
            with (checkout / path).open("rb") as data:
                tar.addfile(member, data)
            size += member.size
    part.replace(archive)
    return size
