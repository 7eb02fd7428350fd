"""Test files collected in a sandbox: what an environment has to be capable of, and which cases read which files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.adapters.patch.links import LinkChange
from tasks.adapters.patch.read import to_bytes
from tasks.adapters.patch.render import Change
from tasks.adapters.runner.launch import environment_mounts, process_env
from tasks.adapters.sandbox.base import Finished, Job, Mount, Sandbox
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.errors import SandboxError
from tasks.domain.names import CaseId, RepoPath
from tasks.domain.run import Limits

COLLECTING = Path(__file__).parent / "collecting"
"""Our script: plain modules for CPython 3.6 to 3.13, standard library only. Mounted read-only into the sandbox."""
MAIN = "swt_collect.py"
CONFIG, REPORT = "collect.json", "collected.json"
WATCH_SECONDS = 240
"""So long cases run to tell which of them read the files that are watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One code state to collect in. What the states before it changed stays as it is."""

    name: str
    files: tuple[RepoPath, ...]
    """Test files to collect."""
    packages: tuple[str, ...] = ()
    """Packages to import afterwards."""
    changes: tuple[Change, ...] = ()
    """What makes this state out of the one before."""
    links: tuple[LinkChange, ...] = ()
    """Symbolic links, likewise."""
    watch: tuple[RepoPath, ...] = ()
    """Files of which is asked which cases of `files` read them: these cases run. For pytest and unittest."""
    alone: tuple[RepoPath, ...] = ()
    """Files that the suite may itself take for tests, each collected by itself; that it does not is no complaint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A case that reads files of interest."""

    case_id: CaseId
    opened: tuple[RepoPath, ...]
    found_by: str
    """`opened`, `named`, `module` or `collected`, see `DrivenCase`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was found in one code state."""

    name: str
    cases: int = 0
    files: Mapping[RepoPath, str] = field(default_factory=dict)
    """Files that could not be collected, with the end of the traceback."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Packages that could not be imported, likewise."""
    fixtures: tuple[str, ...] = ()
    """pytest fixtures that cases ask for and nothing defines."""
    complaint: str = ""
    """Why nothing was collected at all; empty otherwise."""
    ids: frozenset[CaseId] = frozenset()
    """The cases, for pytest and unittest."""
    readers: tuple[Reader, ...] = ()
    skips: tuple[str, ...] = ()
    """Reasons for which tests skip themselves, as far as marks, decorators and modules tell before a test runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """One look at all states."""

    finished: Finished
    states: tuple[Collected, ...]
    """Empty where the process was ended before it could tell."""
    log: str


def collect(
    sandbox: Sandbox,
    built: BuiltEnvironment,
    states: tuple[State, ...],
    *,
    env: tuple[str, ...],
    limits: Limits,
    checkout: Path,
    folder: Path,
) -> Collection:
    """Collect in every state, one after the other, in `checkout`, which is of no use afterwards.

    `folder` is ours for as long as this takes. Raises `SandboxError`.
    """
    outbox, log = folder / "outbox", folder / "log"
    outbox.mkdir()

    def seen(path: Path) -> str:
        return str(sandbox.guest(path, checkout=checkout, outbox=outbox))

    row = built.environment
    config = {
        "kind": row.runner.value,
        "test_args": list(row.test_args),
        "report": seen(outbox / REPORT),
        "watch_seconds": WATCH_SECONDS,
        "states": [_state(state, outbox / state.name, seen) for state in states],
    }
    (outbox / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    job = Job(
        argv=(str(built.python), str(COLLECTING / MAIN), seen(outbox / CONFIG)),
        checkout=checkout,
        outbox=outbox,
        env=process_env(env, built, PurePosixPath(seen(checkout)), row.source_roots),
        mounts=(*environment_mounts(built), Mount(COLLECTING, PurePosixPath(COLLECTING))),
        limits=limits,
        log=log,
        python=row.python,
    )
    finished = sandbox.run(job)
    said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    found = _read(outbox / REPORT)
    if not found and not (finished.timed_out or finished.limit) and f'{MAIN}", line' in said:
        raise SandboxError(f"our collector failed: {said[-500:].strip()}")
    return Collection(finished=finished, states=found, log=said)


def _state(state: State, folder: Path, seen: Callable[[Path], str]) -> dict[str, Any]:
    """The configuration of one state; the new contents of its files are written below `folder`."""
    folder.mkdir()
    changes: dict[str, str | None] = {}
    for number, change in enumerate(state.changes):
        content = folder / str(number)
        if change.after is not None:
            content.write_bytes(to_bytes(change.after))
        changes[change.path] = None if change.after is None else seen(content)
    return {
        "name": state.name,
        "files": state.files,
        "packages": state.packages,
        "changes": changes,
        "links": {link.path: link.after for link in state.links},
        "watch": state.watch,
        "alone": state.alone,
    }


def _read(path: Path) -> tuple[Collected, ...]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["states"]
    except (OSError, ValueError, KeyError):
        return ()
    return tuple(
        Collected(
            name=one["name"],
            cases=one["cases"],
            files={RepoPath(file): error for file, error in one["files"].items()},
            packages=one["packages"],
            fixtures=tuple(one["fixtures"]),
            complaint=one["complaint"],
            ids=frozenset(map(CaseId, one["ids"])),
            readers=tuple(map(_reader, one["readers"])),
            skips=tuple(one["skips"]),
        )
        for one in found
    )


def _reader(row: dict[str, Any]) -> Reader:
    opened = tuple(map(RepoPath, row["opened"]))
    return Reader(case_id=CaseId(row["case"]), opened=opened, found_by=row["found_by"])
