"""The compilers and libraries of this machine that a build takes from the system."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterable
from functools import lru_cache

ASK_SECONDS = 20


@lru_cache(maxsize=16)
def toolchain(libraries: tuple[str, ...] = ()) -> str:
    """Names and versions: what the same sources become depends on them. One fact after another, split by `; `."""
    compilers = (f"{name} {version_of(name)}" for name in ("gcc", "g++"))
    found = (f"{name} {library_version(name)}" for name in libraries)
    return "; ".join((platform.machine(), " ".join(platform.libc_ver()), *compilers, *found))


def missing(libraries: Iterable[str]) -> tuple[str, ...]:
    """What this machine lacks: compilers, and libraries by the names that pkg-config knows them by."""
    programs = [name for name in ("gcc", "g++", "make") if shutil.which(name) is None]
    return (*programs, *(name for name in libraries if not library_version(name)))


def version_of(compiler: str) -> str:
    """Full version of a compiler on PATH; empty where there is none."""
    return _ask(compiler, "-dumpfullversion")


def library_version(name: str) -> str:
    """Version of a library whose headers are installed; empty where they are not, or pkg-config is not."""
    return _ask("pkg-config", "--modversion", name)


def _ask(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
