"""Hides the project under test in an agent's own environment.

Agents depend on later releases of packages that are under test here, such as requests; their source may contain the
fix. Inside the sandbox such a package is shown as bytecode only: the agent runs, but cannot read the source. The audit
of trajectories finds attempts to read it. The CPython's own site-packages are shown empty.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tasks.adapters.agents.install import Installed
from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.sandbox.base import Mount, own_packages
from tasks.adapters.uv.process import Tool

DEEPEST = 2
"""Maximum depth at which importable packages of a repository are searched, such as `src/flask`."""
NOT_THE_PROJECT = frozenset({"test", "tests", "testing", "doc", "docs", "examples", "benchmarks"})
SOURCE = (".py", ".pyi", ".pyx", ".c")
COMPILE_SECONDS = 600.0


def hidden(installed: Installed, paths: Iterable[str]) -> tuple[Mount, ...]:
    """Return mounts that cover those of `installed`; `paths` are all files of the base commit."""
    if installed.base_prefix is None:
        return ()
    empty = _folder(installed, "empty")
    empty.mkdir(parents=True, exist_ok=True)
    bare = [Mount(empty, PurePosixPath(site)) for site in own_packages(installed.base_prefix)]
    (site,) = installed.root.glob("lib/python*/site-packages")
    there = [site / name for name in sorted(packages_of(paths)) if (site / name).is_dir()]
    return (*bare, *(Mount(_without_source(installed, package), PurePosixPath(package)) for package in there))


def packages_of(paths: Iterable[str]) -> frozenset[str]:
    """Return the names under which the packages of a repository are imported."""
    folders = {path.rpartition("/")[0] for path in paths if path.endswith("/__init__.py")}
    tops = {folder for folder in folders if folder.rpartition("/")[0] not in folders and folder.count("/") < DEEPEST}
    return frozenset(folder.rpartition("/")[2] for folder in tops) - NOT_THE_PROJECT


def _without_source(installed: Installed, package: Path) -> Path:
    """Return a copy of a package with bytecode in place of its source; created once."""
    made = _folder(installed, package.name)
    with file_lock(made.with_name(f".{made.name}.lock")):
        if not made.is_dir():
            half = made.with_name(f".{made.name}.half")
            shutil.rmtree(half, ignore_errors=True)
            shutil.copytree(package, half, ignore=shutil.ignore_patterns("__pycache__"))
            python = Tool(installed.root / "bin" / "python", {}, COMPILE_SECONDS)
            python.run("-I", "-m", "compileall", "-q", "-b", "-s", str(half), str(half), tolerate=(1,))
            for file in [path for path in half.rglob("*") if path.suffix in SOURCE]:
                file.unlink()
            half.rename(made)
    return made


def _folder(installed: Installed, name: str) -> Path:
    return installed.root.parent / "hidden" / f"{installed.root.name}-{name}"
