"""Which sandboxes this machine can run, and which one a flow gets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.sandbox.docker.engine import docker_settings
from tasks.adapters.sandbox.docker.sandbox import Docker
from tasks.adapters.sandbox.process import Process
from tasks.domain.errors import UsageError
from tasks.domain.outcome import SandboxKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What `swt doctor` says about one kind of sandbox."""

    kind: SandboxKind
    usable: bool
    why_not: str
    """One line; empty where it is usable."""
    isolates: str
    """What stands between the code under test and this machine."""


def available() -> tuple[Probe, ...]:
    """Every kind in the order of preference, each really tried."""
    return tuple(_probe(entry) for entry in ENTRIES)


def pick(kind: SandboxKind | None, *, trusted: bool, base: Path) -> Sandbox:
    """The sandbox asked for, or for `None` the first that works; one that isolates nothing only for trusted code.

    Private folders of runs are made below `base`. `UsageError` where there is none.
    """
    if kind is not None:
        return _asked(kind, trusted, base)
    for entry in ENTRIES:
        if (trusted or entry.isolating) and not entry.why_not():
            return entry.make(base)
    raise UsageError(
        "no sandbox of this machine isolates, and the code to run is not trusted",
        hint="install bubblewrap (`swt doctor` says what is missing), or say that you trust the code",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One kind, in one place: a new kind is a new entry."""

    kind: SandboxKind
    isolating: bool
    isolates: str
    why_not: Callable[[], str]
    make: Callable[[Path], Sandbox]


def _docker(base: Path) -> Docker:
    return Docker(base, docker_settings(os.environ))


def _asked(kind: SandboxKind, trusted: bool, base: Path) -> Sandbox:
    entry = next((entry for entry in ENTRIES if entry.kind is kind), None)
    if entry is None:
        raise UsageError(f"there is no sandbox `{kind}` yet", hint="see `swt doctor`")
    if not trusted and not entry.isolating:
        raise UsageError(
            f"the sandbox `{entry.kind}` isolates nothing, and the code to run is not trusted",
            hint="choose another one, or say that you trust the code",
        )
    if why_not := entry.why_not():
        raise UsageError(f"the sandbox `{entry.kind}` cannot be used: {why_not}", hint="see `swt doctor`")
    return entry.make(base)


def _probe(entry: Entry) -> Probe:
    why_not = entry.why_not()
    return Probe(kind=entry.kind, usable=not why_not, why_not=why_not, isolates=entry.isolates)


ENTRIES = (
    Entry(
        kind=SandboxKind.BUBBLEWRAP,
        isolating=True,
        isolates="network, files, processes, users; resources are watched from outside",
        why_not=lambda: Bubblewrap().why_not(),
        make=Bubblewrap,
    ),
    Entry(
        kind=SandboxKind.DOCKER,
        isolating=True,
        isolates="network, files, processes, users, resources by control groups",
        why_not=lambda: _docker(Path(tempfile.gettempdir())).why_not(),
        make=_docker,
    ),
    Entry(
        kind=SandboxKind.PROCESS,
        isolating=False,
        isolates="nothing; resources are watched from outside",
        why_not=lambda: "",
        make=Process,
    ),
)
"""In the order of preference."""
