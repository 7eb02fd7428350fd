"""Which sandboxes this machine can run, and which one a flow gets."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
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
    return tuple(_probe(kind) for kind in ISOLATES)


def pick(kind: SandboxKind | None, *, trusted: bool) -> Sandbox:
    """The sandbox asked for, or for `None` the first that works; the process sandbox only for trusted code.

    `UsageError` where there is none.
    """
    if kind is not None:
        return _asked(_probe(kind), trusted)
    for probe in map(_probe, ISOLATES):
        if probe.usable and (trusted or probe.kind in ISOLATING):
            return MAKERS[probe.kind]()
    raise UsageError(
        "no sandbox of this machine isolates, and the code to run is not trusted",
        hint="install bubblewrap or a container engine (`swt doctor` says what is missing), or trust it with `--sandbox process`",
    )


def _asked(probe: Probe, trusted: bool) -> Sandbox:
    if not probe.usable:
        raise UsageError(f"the sandbox {probe.kind} cannot be used: {probe.why_not}", hint="see `swt doctor`")
    if not trusted and probe.kind not in ISOLATING:
        raise UsageError(
            f"the sandbox {probe.kind} isolates nothing, and the code to run is not trusted",
            hint="choose another one, or say that you trust the code",
        )
    return MAKERS[probe.kind]()


def _probe(kind: SandboxKind) -> Probe:
    why_not = WHY_NOT[kind]()
    return Probe(kind=kind, usable=not why_not, why_not=why_not, isolates=ISOLATES[kind])


def _docker_why_not() -> str:
    return "not built in yet"


def _bubblewrap_why_not() -> str:
    found = shutil.which("bwrap")
    return Bubblewrap().why_not() if found else "bwrap is not on PATH (package `bubblewrap`)"


ISOLATES = {
    SandboxKind.DOCKER: "network, file system, processes, users, resources",
    SandboxKind.BUBBLEWRAP: "network, file system, processes, users; resources are watched and limited from outside",
    SandboxKind.PROCESS: "nothing; resources are watched and limited from outside",
}
WHY_NOT = {
    SandboxKind.DOCKER: _docker_why_not,
    SandboxKind.BUBBLEWRAP: _bubblewrap_why_not,
    SandboxKind.PROCESS: str,
}
MAKERS: dict[SandboxKind, type[Bubblewrap] | type[Process]] = {
    SandboxKind.BUBBLEWRAP: Bubblewrap,
    SandboxKind.PROCESS: Process,
}
ISOLATING = frozenset({SandboxKind.DOCKER, SandboxKind.BUBBLEWRAP})
