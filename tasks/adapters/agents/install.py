"""Installs an agent into a folder of its own: once per content, atomically, safe between processes.

agents/<name>-<key>/            finished; `installed.json` lists its content
agents/.<name>-<key>.lock       held during installation
agents/.<name>-<key>.half       incomplete
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from tasks.adapters.agents.base import Agent, NpmKit, PythonKit
from tasks.adapters.coordination.locks import file_lock
from tasks.adapters.folders import remove
from tasks.adapters.sandbox.base import Mount, Sandbox
from tasks.adapters.tool_environment import tool_environment
from tasks.adapters.uv.build_gate import gated_uv
from tasks.adapters.uv.install import compile_packages
from tasks.adapters.uv.interpreters import find_interpreters, find_uv, pick
from tasks.adapters.uv.lock import cutoff
from tasks.adapters.uv.process import Tool
from tasks.domain.errors import NotFound
from tasks.domain.names import repo_folder

ROW = "installed.json"
KEY_DIGITS = 12
MINUTES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An installed agent."""

    name: str
    root: Path
    base_prefix: Path | None
    """Folder of its CPython; None if it has none."""
    lock: tuple[str, ...]
    """Installed packages, `name==version`."""
    seconds: float
    """Duration of the installation."""

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Read-only mounts that a sandbox needs, at the same paths as on the host."""
        found = [Mount(self.root, PurePosixPath(self.root), content=f"agent-{self.root.name}")]
        if self.base_prefix is not None:
            found.append(Mount(self.base_prefix, PurePosixPath(self.base_prefix)))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """Installs agents below one folder."""

    folder: Path
    environ: Mapping[str, str]
    """Environment of this process. uv, npm and git get only the variables that `tool_environment` allows."""
    sandbox: Sandbox
    """Sandbox for building packages without a wheel. npm runs no install scripts."""
    scratch: Path
    """Folder for private copies during builds."""
    sources: Path | None = None
    """Folder of bare mirrors `<owner>__<name>.git`, used instead of GitHub if present."""
    timeout_s: float = MINUTES * 60.0

    def install(self, agent: Agent) -> Installed:
        """Return the agent, installing it if necessary.

        Raises `BuildFailed` if it cannot be installed, `InfrastructureError` if the registry or the machine failed,
        `NotFound` if its CPython, npm or git is missing.
        """
        root = place(self.folder, agent)
        with file_lock(root.with_name(f".{root.name}.lock")):
            if not (root / ROW).is_file():
                self._make(agent, root)
        return ready(self.folder, agent)

    def _make(self, agent: Agent, root: Path) -> None:
        half = root.with_name(f".{root.name}.half")
        for stale in (half, root):
            remove(stale)
        started = time.monotonic()
        try:
            lock = self._python(agent.kit, half) if isinstance(agent.kit, PythonKit) else self._npm(agent.kit, half)
            row = {"name": agent.name, "lock": lock, "seconds": round(time.monotonic() - started, 1)}
            row["at"] = datetime.now(UTC).isoformat()
            (half / ROW).write_text(json.dumps(row, indent=1), encoding="utf-8")
            half.rename(root)
        finally:
            remove(half)

    def _python(self, kit: PythonKit, root: Path) -> list[str]:
        """Create a relocatable virtual environment with bytecode, since the folder is read-only in the sandbox."""
        interpreter = pick(find_interpreters(self.environ, find_uv()), kit.python)
        uv = gated_uv(
            self._tool(find_uv()),
            sandbox=self.sandbox,
            scratch=self.scratch,
            cache=self.folder.parent,
            interpreter=interpreter,
        )
        uv.run("venv", "--quiet", "--no-project", "--relocatable", "--python", str(uv.python), str(root))
        python = ("--python", str(root / "bin" / "python"))
        source = self._source(kit, root / "source").resolve() if kit.repository else None
        wanted = (*kit.requirements, *([str(source)] if source else []))
        uv.run(
            *("pip", "install", "--quiet", *python, *cutoff(kit.as_of), *wanted),
            source=source,
            hint="the pinned release does not install here: see docs/agents.md",
        )
        installed = uv.run("pip", "freeze", "--quiet", *python).splitlines()
        uv.gate.restore(root)
        compile_packages(uv, interpreter, root)
        return installed

    def _source(self, kit: PythonKit, into: Path) -> Path:
        """Check out the needed parts of a tag without history; from a mirror if there is one."""
        mirror = (self.sources or into) / f"{repo_folder(kit.repository)}.git"
        with tempfile.TemporaryDirectory(prefix="swt-source-") as name:
            clone = mirror.resolve() if mirror.is_dir() else self._clone(kit, Path(name) / "clone")
            into.mkdir(parents=True)
            self._program("git").run(
                *("--git-dir", str(clone), "--work-tree", str(into), "checkout", "--quiet"),
                *(f"refs/tags/{kit.tag}", "--", *(kit.parts or (".",))),
                extra_env=(f"GIT_INDEX_FILE={name}/index",),  # a mirror has no index, and must stay unchanged
                hint=f"is {kit.tag} a tag of {kit.repository}?",
            )
        return into

    def _clone(self, kit: PythonKit, into: Path) -> Path:
        address = f"https://github.com/{kit.repository}.git"
        hint = f"where GitHub cannot be reached, `swt repo add {kit.repository} --git <clone>` does as well"
        self._program("git").run(
            *("clone", "--quiet", "--bare", "--depth", "1", f"--branch={kit.tag}", "--", address, str(into)), hint=hint
        )
        return into

    def _program(self, name: str) -> Tool:
        found = shutil.which(name, path=self.environ.get("PATH"))
        if found is None:
            raise NotFound(f"{name} is not installed", hint=f"agents of this kind are installed with {name}")
        return self._tool(Path(found))

    def _tool(self, program: Path) -> Tool:
        return Tool(program, tool_environment(self.environ), self.timeout_s)

    def _npm(self, kit: NpmKit, root: Path) -> list[str]:
        root.mkdir(parents=True)
        quiet = ("--no-fund", "--no-audit", "--no-update-notifier", "--ignore-scripts", "--loglevel", "error")
        self._program("npm").run("install", "--prefix", str(root), *quiet, *kit.packages)
        return list(kit.packages)


def place(folder: Path, agent: Agent) -> Path:
    """Return the folder of an agent, installed or not."""
    return folder.absolute() / f"{agent.program or agent.name}-{agent.kit_key[:KEY_DIGITS]}"


def ready(folder: Path | None, agent: Agent) -> Installed:
    """Return an installed agent. Raises `NotFound` if it is not installed."""
    root = place(folder or Path("agents"), agent)
    if folder is None or not (root / ROW).is_file():
        hint = f"`swt agents install {agent.name}` installs it"
        raise NotFound(f"the agent {agent.name} is not installed", hint=hint)
    row = json.loads((root / ROW).read_text(encoding="utf-8"))
    python = root / "bin" / "python"
    prefix = python.resolve().parent.parent if isinstance(agent.kit, PythonKit) else None
    return Installed(
        name=agent.name, root=root, base_prefix=prefix, lock=tuple(row["lock"]), seconds=float(row["seconds"])
    )
