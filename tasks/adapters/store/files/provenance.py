"""Returns the commit and version of this project that writes rows, and the version of its code."""

from __future__ import annotations

import subprocess
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tasks.domain.names import content_key, jsonable
from tasks.domain.provenance import Provenance

PROJECT = Path(__file__).resolve().parents[4]


def provenance(started_at: datetime, finished_at: datetime, config: Any) -> Provenance:
    """Return the provenance of rows that this process writes. `config` must be
    JSON-serializable; both times are aware."""
    return Provenance(
        project_commit=project_commit(),
        project_dirty=project_dirty(),
        project_version=project_version(),
        config_hash=content_key("config", jsonable(config)),
        started_at=started_at,
        finished_at=finished_at,
    )


@cache
def project_commit() -> str:
    """Return the commit, 40 hexadecimal digits; empty outside a git checkout of the project."""
    return _git("rev-parse", "HEAD") if (PROJECT / ".git").exists() else ""


@cache
def project_dirty() -> bool:
    """Whether tracked files differed from the commit at the first call in this process."""
    return bool(project_commit()) and bool(_git("status", "--porcelain", "--untracked-files=no"))


@cache
def project_version() -> str:
    """Return the version of the installed distribution; empty if it is not installed."""
    try:
        return version("rolling-swt-bench")
    except PackageNotFoundError:
        return ""


@cache
def version_of(*packages: str) -> str:
    """Return a content key of all Python files below the packages (such as `tasks.evaluate`)."""
    folders = [PROJECT.joinpath(*package.split(".")) for package in packages]
    found = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return content_key("sources", [[str(file.relative_to(PROJECT)), file.read_text("utf-8")] for file in found])


def _git(*arguments: str) -> str:
    """Return the standard output of git in the project folder; empty if git fails or is missing."""
    argv = ["git", "-C", str(PROJECT), *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
