"""Small projects under the debugger, on the interpreters of this machine."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.debugger.session import DebugCase, DebugLimits, DebugSession, debugging
from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.process import Process
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.names import CaseId, RepoName, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Limits

JOB = Limits(wall_s=120.0, memory_mb=1024, processes=64, disk_mb=64, log_mb=1)
LIMITS = DebugLimits(command_s=10.0, start_s=60.0, job=JOB)


def environment(minor: str = "") -> BuiltEnvironment:
    """This interpreter with pytest, or a bare one of another minor version."""
    host = host_environment(RepoName("toys/debug"), env=("PYTEST_DISABLE_PLUGIN_AUTOLOAD=1",))
    if not minor:
        return host
    found = next((one for one in machine_interpreters() if one.minor == minor), None)
    if found is None:
        pytest.skip(f"CPython {minor} is not installed here")
    row = replace(host.environment, python=minor, python_full=found.version)
    return replace(host, environment=row, root=found.base_prefix, python=found.path, interpreter=found)


@contextmanager
def open_session(
    folder: Path,
    files: dict[str, str],
    case: str,
    kind: RunnerKind = RunnerKind.UNITTEST,
    *,
    minor: str = "",
    sandbox: Sandbox | None = None,
    limits: DebugLimits = LIMITS,
) -> Iterator[DebugSession]:
    """A session on a case of some files (path → text), the first of which named `test_…` holds it."""
    checkout, own = folder / "checkout", folder / "session"
    own.mkdir()
    for name, text in files.items():
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text), encoding="utf-8")
    path = next(name for name in files if name.rpartition("/")[2].startswith("test_"))
    what = DebugCase(kind=kind, path=RepoPath(path), case_id=CaseId(case), pythonpath=True)
    made = debugging(sandbox or Process(folder), environment(minor), what, checkout=checkout, folder=own, limits=limits)
    with made as session:
        yield session
