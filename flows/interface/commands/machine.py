"""`swt doctor`, mirrors of repositories, and installation of third-party agents."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from flows.interface.settings import GIT, Settings
from tasks.adapters.agents.base import Agent
from tasks.adapters.agents.catalogue import AGENTS, agent_named
from tasks.adapters.agents.install import Installed, Installer, ready
from tasks.adapters.extensions.toolchain import missing, toolchain
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.sources import source_of
from tasks.adapters.sandbox.select import Probe, automatic, available, swept
from tasks.adapters.store.files.address import shown
from tasks.adapters.store.tables.store import Store
from tasks.adapters.tabular import text_table
from tasks.adapters.uv.interpreters import find_uv, machine_interpreters
from tasks.domain.errors import NotFound, SwtError
from tasks.domain.names import repo_name
from tasks.domain.outcome import SandboxKind
from tasks.environment.recipes import libraries_of_builds

CCACHE_MISSING = "no: every commit of a compiled project is compiled from scratch"
CALLED_BY_TESTS = {
    "less": "click",
    "gs": "matplotlib",
    "dot": "networkx",
    "compare": "beets",  # ImageMagick; versions 6 and 7 have this name
    "ffmpeg": "beets",
}
"""System programs that tests were seen to call, with the projects of these tests. No environment contains them. If one
is missing, tests skip or fail, and an instance gets another verdict than on other machines."""


def report(settings: Settings) -> str:
    """Returns one line for each check, with a next step if something is missing."""
    return "\n".join(
        [*_sandboxes(), *_programs(), *_interpreters(), *_called(), *_compiled(settings), *_places(settings)]
    )


def _sandboxes() -> list[str]:
    """Returns what each sandbox isolates and what not, or why it is missing; and which one `auto` selects for trusted
    and for other code."""
    probes = available()
    lines = [line for probe in probes for line in _sandbox(probe)]
    for trusted in (False, True):
        kind = automatic(probes, trusted=trusted)
        name = "auto, trusted code" if trusted else "auto, other code"
        lines.append(_line(name, kind or "no: nothing here isolates, so such code does not run"))
        lines.append(_line("", _builds(kind)))
    return lines


def _builds(kind: SandboxKind | None) -> str:
    """Returns how packages and checkouts are built if `auto` selects this sandbox."""
    if kind is None:
        return "environments are not built: builds need a sandbox as tests do"
    if kind is SandboxKind.PROCESS:
        return "builds run as you, with a network, allow-listed variables and an empty HOME"
    return f"builds run in {kind}, without network, host files or secrets; uv downloads outside"


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
    newer = [item.minor for item in found if item.number[:2] > sys.version_info[:2]]
    only = f"what only {', '.join(newer)} can parse"
    unread = f"no: {only} gets no placebo and paraphrase, and the lint notes it as unreadable"
    return [
        _line("product python", platform.python_version()),
        _line("pythons under test", text),
        _line("newest grammar", unread if newer else "yes"),
    ]


def _called() -> list[str]:
    lacking = [f"{name} ({projects})" for name, projects in CALLED_BY_TESTS.items() if not shutil.which(name)]
    text = f"no: {', '.join(lacking)}: some tests of these fail or skip here" if lacking else "yes"
    return [_line("programs of tests", text)]


def _compiled(settings: Settings) -> list[str]:
    """Returns what builds of compiled projects need from this machine: compilers, and libraries with their headers."""
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
        _line("store", f"{shown(settings.store)} ({runs} runs)"),
        _line("cache", f"{settings.cache} ({free:.0f} GB free)"),
        _line("database", f"{settings.database}{'' if settings.database.exists() else ' (not built yet)'}"),
    ]


def _line(name: str, text: str) -> str:
    return f"{name:22} {text}"


def add_mirror(settings: Settings, name: str, source: str) -> str:
    """Mirror repository `name` from a local path or URL; from GitHub if the source is empty."""
    path = Mirrors(settings.places.mirrors).add(name, source or source_of(GIT, repo_name(name)))
    return f"{name}: {path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInstalls:
    """Result of an installation."""

    text: str
    """One line for each installed agent."""
    problems: tuple[str, ...]
    """One line for each agent that could not be installed, with the reason."""
    exit_code: int
    """0 done, 1 some are missing, 3 none is installed."""


def list_agents(settings: Settings) -> str:
    """Returns all supported agents as a table, with pinned release and installation folder."""
    table = text_table(pa.Table.from_pylist([_agent_row(agent, _found(settings, agent)) for agent in AGENTS]))
    return f"{table}\nfolders are below {settings.places.agents}"


def install_agents(settings: Settings, names: Sequence[str], environ: Mapping[str, str]) -> AgentInstalls:
    """Install each agent into its own environment below the cache, unless it is already there. A failure does not stop
    the others.

    Raises `NotFound` for an unknown name before it installs anything, and `UsageError` if no sandbox here isolates
    builds.
    """
    agents = [agent_named(name) for name in dict.fromkeys(names)] or list(AGENTS)
    places = settings.places
    sandbox = swept(None, trusted=settings.trusted, base=places.scratch)
    installer = Installer(
        folder=places.agents, environ=environ, sandbox=sandbox, scratch=places.scratch, sources=places.mirrors
    )
    lines, problems = [], []
    for agent in agents:
        try:
            lines.append(_said(agent, installer.install(agent)))
        except SwtError as error:
            problems.append(f"error[{error.slug}]: {agent.name}: {error} (hint: {error.hint})")
    return AgentInstalls(
        text="\n".join(lines), problems=tuple(problems), exit_code=0 if not problems else 1 if lines else 3
    )


def _found(settings: Settings, agent: Agent) -> Installed | None:
    try:
        return ready(settings.places.agents, agent)
    except NotFound:
        return None


def _agent_row(agent: Agent, found: Installed | None) -> dict[str, object]:
    return {
        "agent": agent.name,
        "release": agent.kit.release,
        "dialect": agent.dialect,
        "packages": len(found.lock) if found else None,
        "installed": found.root.name if found else None,
    }


def _said(agent: Agent, made: Installed) -> str:
    return f"{agent.name} {agent.kit.release}: {made.root} ({len(made.lock)} packages, {made.seconds:g} s)"
