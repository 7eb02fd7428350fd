"""Lists the sandboxes that work on this machine, and selects one for a flow."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.sandbox.docker.engine import docker_settings
from tasks.adapters.sandbox.docker.sandbox import Docker
from tasks.adapters.sandbox.process import Process
from tasks.domain.errors import SandboxError, UsageError
from tasks.domain.outcome import SandboxKind

log = logging.getLogger("swt")

TRUST = "trust the code: --trusted, or SWT_TRUSTED=1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Facts about one kind of sandbox, as `swt doctor` shows them."""

    kind: SandboxKind
    usable: bool
    why_not: str
    """Reason in one line; empty if it is usable."""
    isolates: str
    """Barriers between the code under test and this machine."""
    shares: str
    """Resources that it shares with this machine."""
    isolating: bool
    """Whether untrusted code may run in it."""


def available() -> tuple[Probe, ...]:
    """Return every kind in order of preference, each tested by a run."""
    return tuple(_probe(entry) for entry in ENTRIES)


def automatic(probes: Iterable[Probe], *, trusted: bool) -> SandboxKind | None:
    """Return the kind for `auto`: the first that works, and for untrusted code also isolates; None if there is none."""
    return next((probe.kind for probe in probes if probe.usable and (trusted or probe.isolating)), None)


def pick(kind: SandboxKind | None, *, trusted: bool, base: Path) -> Sandbox:
    """Return the requested sandbox, or for `None` the first that works. One without isolation needs trusted code.

    Private folders of runs are below `base`. Raises `UsageError` if no sandbox fits.
    """
    if kind is not None:
        return _asked(kind, trusted, base)
    for entry in ENTRIES:
        if (trusted or entry.isolating) and not entry.why_not():
            return entry.make(base)
    raise UsageError(
        "no sandbox of this machine isolates, and the code to run is not trusted",
        hint=f"install bubblewrap or start a container engine (see `swt doctor`), or {TRUST}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxEntry:
    """One kind of sandbox; a new kind is a new entry."""

    kind: SandboxKind
    isolating: bool
    isolates: str
    shares: str
    why_not: Callable[[], str]
    make: Callable[[Path], Sandbox]


def _docker(base: Path) -> Docker:
    return Docker(base, docker_settings(os.environ))


@lru_cache(maxsize=8)
def swept(kind: SandboxKind | None, *, trusted: bool, base: Path) -> Sandbox:
    """Return `pick`, cached per process, after removing leftovers of earlier processes below
    `base`. Raises as `pick`."""
    sandbox = pick(kind, trusted=trusted, base=base)
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o711)
    except OSError as error:
        hint = "name a folder that can be written: SWT_SCRATCH"
        raise SandboxError(f"the scratch folder {base} cannot be made: {error.strerror}", hint=hint) from error
    if sandbox.kind is SandboxKind.PROCESS:
        log.warning("nothing isolates the code under test here: it runs as you, with a network and all your files")
    sandbox.sweep()
    return sandbox


def _asked(kind: SandboxKind, trusted: bool, base: Path) -> Sandbox:
    entry = next((entry for entry in ENTRIES if entry.kind is kind), None)
    if entry is None:
        raise UsageError(f"there is no sandbox `{kind}` yet", hint="see `swt doctor`")
    if not trusted and not entry.isolating:
        raise UsageError(
            f"the sandbox `{entry.kind}` isolates nothing, and the code to run is not trusted",
            hint=f"choose another one, or {TRUST}",
        )
    if why_not := entry.why_not():
        raise UsageError(f"the sandbox `{entry.kind}` cannot be used: {why_not}", hint="see `swt doctor`")
    return entry.make(base)


def _probe(entry: SandboxEntry) -> Probe:
    why_not = entry.why_not()
    return Probe(
        kind=entry.kind,
        usable=not why_not,
        why_not=why_not,
        isolates=entry.isolates,
        shares=entry.shares,
        isolating=entry.isolating,
    )


ENTRIES = (
    SandboxEntry(
        kind=SandboxKind.BUBBLEWRAP,
        isolating=True,
        isolates="network, files, processes, users; memory, processes and disk are watched from outside",
        shares=(
            "the kernel; the host's /usr can be read, and its page cache is the host's; "
            "memory can pass its limit for a tenth of a second"
        ),
        why_not=lambda: Bubblewrap().why_not(),
        make=Bubblewrap,
    ),
    SandboxEntry(
        kind=SandboxKind.DOCKER,
        isolating=True,
        isolates="network, files, processes, users; the kernel holds memory, forks and processors, disk is watched",
        shares="the kernel (before Docker 25 also io_uring, vsock); whoever may talk to the engine is as good as root",
        why_not=lambda: _docker(Path(tempfile.gettempdir())).why_not(),
        make=_docker,
    ),
    SandboxEntry(
        kind=SandboxKind.PROCESS,
        isolating=False,
        isolates="nothing; memory, processes and disk are watched from outside",
        shares="all that you can read, change or send; for code that you trust",
        why_not=lambda: "",
        make=Process,
    ),
)
"""In order of preference."""
