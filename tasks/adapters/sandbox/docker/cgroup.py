"""A container's control groups, read from outside: who is in it, what it used, what the kernel refused.

Both layouts are known: one tree for each controller (version 1), and one tree for all (version 2).
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
    """The files that tell."""

    members: Path
    cpu: Path
    cpu_unit: float
    """Seconds in one unit of `cpu`."""
    kills: Path
    """Has a line `oom_kill N`."""
    refusals: Path
    """Has a line `max N`: forks that were refused."""

    def pids(self) -> list[int]:
        """Its processes, by the host's numbers; none once it is gone."""
        with suppress(OSError):
            return [int(line) for line in self.members.read_text().split()]
        return []

    def cpu_s(self) -> float:
        """User and system seconds of all that ever ran in it."""
        text = self.cpu.read_text()
        return (int(text) if text.strip().isdigit() else _field(text, "usage_usec")) * self.cpu_unit

    def oom_kills(self) -> int:
        """How many of its processes the kernel ended for want of memory."""
        return _field(self.kills.read_text(), "oom_kill")

    def refused_forks(self) -> int:
        return _field(self.refusals.read_text(), "max")


def cgroup_of(pid: int, root: Path = ROOT, proc: Path = PROC) -> Cgroup:
    """The control groups of a process of this machine; `SandboxError` where they cannot be seen."""
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
    """The number behind a name; 0 where the kernel does not count it."""
    return next((int(value) for key, _, value in (line.partition(" ") for line in text.splitlines()) if key == name), 0)
