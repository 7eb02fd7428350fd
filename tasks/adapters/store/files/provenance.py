"""Which commit and version of this project writes rows, and which version of its code."""

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
    """Provenance of rows written by this process; `config` is anything that JSON can hold. Both times are aware."""
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
    """40 hexadecimal digits; empty outside a git checkout of the project."""
    return _git("rev-parse", "HEAD") if (PROJECT / ".git").exists() else ""


@cache
def project_dirty() -> bool:
    """Whether tracked files differed from that commit when this process first asked."""
    return bool(project_commit()) and bool(_git("status", "--porcelain", "--untracked-files=no"))


@cache
def project_version() -> str:
    """Version of the installed distribution; empty where it is not installed."""
    try:
        return version("rolling-swt-bench")
    except PackageNotFoundError:
        return ""


@cache
def version_of(*packages: str) -> str:
    """Content key of the Python files of packages (`tasks.evaluate`), with those below them."""
    folders = [PROJECT.joinpath(*package.split(".")) for package in packages]
    found = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return content_key("sources", [[str(file.relative_to(PROJECT)), file.read_text("utf-8")] for file in found])


def _git(*arguments: str) -> str:
    """Standard output of git in the project's folder; empty where git fails or is not there."""
    argv = ["git", "-C", str(PROJECT), *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
