"""A container's control groups, read from outside: its processes, its usage, and the kernel's refusals.

Supports both layouts: one tree per controller (version 1), and one tree for all (version 2).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tasks.domain.errors import SandboxError

ROOT = Path("/sys/fs/cgroup")
PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """The files of a container's control groups."""

    members: Path
    cpu: Path
    cpu_unit: float
    """Seconds per unit of `cpu`."""
    kills: Path
    """File with a line `oom_kill N`."""
    refusals: Path
    """File with a line `max N`: the number of refused forks."""

    def pids(self) -> list[int]:
        """Return its processes by the host's ids; empty once it is gone."""
        with suppress(OSError):
            return [int(line) for line in self.members.read_text().split()]
        return []

    def cpu_s(self) -> float:
        """Return user and system seconds of all processes that ever ran in it."""
        text = self.cpu.read_text()
        return (int(text) if text.strip().isdigit() else _field(text, "usage_usec")) * self.cpu_unit

    def oom_kills(self) -> int:
        """Return the number of its processes that the kernel killed for lack of memory."""
        return _field(self.kills.read_text(), "oom_kill")

    def refused_forks(self) -> int:
        return _field(self.refusals.read_text(), "max")


def cgroup_of(pid: int, root: Path = ROOT, proc: Path = PROC) -> Cgroup:
    """Return the control groups of a process of this machine. Raises `SandboxError` if they are not visible."""
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    paths = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
    found = _one_tree(root, paths) if (root / "cgroup.controllers").exists() else _many_trees(root, paths)
    if found is None or not all(path.exists() for path in (found.members, found.cpu, found.kills, found.refusals)):
        raise SandboxError(
            "the engine's containers cannot be watched from here: another machine's, or without control groups",
            hint="run the engine on the machine that runs `swt`, with the cpu, memory and pids controllers",
        )
    return found


def _one_tree(root: Path, paths: dict[str, str]) -> Cgroup | None:
    if "" not in paths:
        return None
    folder = root / paths[""].lstrip("/")
    return Cgroup(
        members=folder / "cgroup.procs",
        cpu=folder / "cpu.stat",
        cpu_unit=1e-6,
        kills=folder / "memory.events",
        refusals=folder / "pids.events",
    )


def _many_trees(root: Path, paths: dict[str, str]) -> Cgroup | None:
    if not {"cpuacct", "memory", "pids"} <= paths.keys():
        return None
    cpu, memory, pids = (root / name / paths[name].lstrip("/") for name in ("cpuacct", "memory", "pids"))
    return Cgroup(
        members=pids / "cgroup.procs",
        cpu=cpu / "cpuacct.usage",
        cpu_unit=1e-9,
        kills=memory / "memory.oom_control",
        refusals=pids / "pids.events",
    )


def _field(text: str, name: str) -> int:
    """Return the number after a name; 0 if the kernel does not count it."""
    return next((int(value) for key, _, value in (line.partition(" ") for line in text.splitlines()) if key == name), 0)
