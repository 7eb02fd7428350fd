"""What this machine can do: `swt doctor`."""

from __future__ import annotations

import platform
import shutil

from flows.settings import Settings
from tasks.adapters.extensions.toolchain import missing, toolchain
from tasks.adapters.sandbox.pick import Probe, automatic, available
from tasks.adapters.store.warehouse import Store
from tasks.adapters.uv.interpreters import find_uv, machine_interpreters
from tasks.domain.errors import SwtError
from tasks.environment.recipes import libraries_of_builds

CCACHE_MISSING = "no: every commit of a compiled project is compiled from scratch"


def report(settings: Settings) -> str:
    """One line per thing that matters, with what to do about those that are missing."""
    return "\n".join([*_sandboxes(), *_programs(), *_interpreters(), *_compiled(settings), *_places(settings)])


def _sandboxes() -> list[str]:
    """What each sandbox keeps apart and what not, or why it is missing; and which one `auto` takes for which code."""
    probes = available()
    lines = [line for probe in probes for line in _sandbox(probe)]
    for trusted in (False, True):
        kind = automatic(probes, trusted=trusted)
        name = "auto, trusted code" if trusted else "auto, other code"
        lines.append(_line(name, kind or "no: nothing here isolates, so such code does not run"))
    return lines


def _sandbox(probe: Probe) -> list[str]:
    name = f"sandbox {probe.kind}"
    if not probe.usable:
        return [_line(name, f"no: {probe.why_not}")]
    return [_line(name, f"isolates {probe.isolates}"), _line("", f"does not isolate {probe.shares}")]


def _programs() -> list[str]:
    lines = [_line(name, shutil.which(name) or "no: not on PATH") for name in ("git", "tar")]
    try:
        return [*lines, _line("uv", str(find_uv()))]
    except SwtError as error:
        return [*lines, _line("uv", f"no: {error}")]


def _interpreters() -> list[str]:
    found = machine_interpreters()
    text = " ".join(item.version for item in found) or "no: none found; `uv python install 3.9` gets one"
    return [_line("product python", platform.python_version()), _line("pythons under test", text)]


def _compiled(settings: Settings) -> list[str]:
    """What the builds of compiled projects take from this machine: compilers, and libraries with their headers."""
    wanted = libraries_of_builds(settings.places.recipes)
    lines = [_line("compilers", toolchain()), _line("compiler cache", shutil.which("ccache") or CCACHE_MISSING)]
    lacking = {repo: missing(libraries) for repo, libraries in wanted.items()}
    return lines + [
        _line(f"builds {repo}", f"no: {', '.join(names)}" if names else "yes") for repo, names in lacking.items()
    ]


def _places(settings: Settings) -> list[str]:
    settings.cache.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.cache).free / 1e9
    runs = len(Store(settings.store).run_keys())
    return [
        _line("store", f"{settings.store} ({runs} runs)"),
        _line("cache", f"{settings.cache} ({free:.0f} GB free)"),
        _line("database", f"{settings.database}{'' if settings.database.exists() else ' (not built yet)'}"),
    ]


def _line(name: str, text: str) -> str:
    return f"{name:22} {text}"
