"""One temporary container: its rights, start and removal.

Its first process only keeps it running. It reads from a connection of the flow, so that it ends when the flow is
killed. As the first process of a PID namespace, it takes all other processes inside with it. The job is a second
process, whose user can neither inspect nor kill the first.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.adapters.sandbox.base import TESTBED, Job, Mount
from tasks.adapters.sandbox.docker.cgroup import Cgroup, cgroup_of
from tasks.adapters.sandbox.docker.watch import STARTER
from tasks.adapters.sandbox.guest import HOME, OUTBOX, SHM_BYTES, TMP, command
from tasks.adapters.sandbox.guest_system import HOSTNAME, write_etc
from tasks.adapters.sandbox.owner import give_to_stranger
from tasks.adapters.sandbox.scratch import Scratch
from tasks.adapters.sandbox.supervisor.start import DISK_SLACK, OPEN_FILES
from tasks.domain.errors import SandboxError

RUN = "swt.run"
"""Label of every container: the run and its owner, see `label.py`."""

HOLDER = "/bin/cat"
HOLDER_USER = "65534:65534"
HIDDEN = ("/sys", "/dev/mqueue")
"""Folders of the machine, or writable ones: covered by an empty read-only file system."""

CLOSED = PurePosixPath("/root")
"""Images close this folder to other users, so mounts below it need another folder in its place."""

OPEN = PurePosixPath("/var/tmp")  # noqa: S108 - inside
"""Podman makes it writable, in memory; an empty read-only folder replaces it."""

COVERED = (TMP, HOME, TESTBED, OUTBOX, OPEN, *map(PurePosixPath, ("/dev", "/proc", "/sys")))
"""Folders that a container covers with its own mounts: the image's content below is not visible."""

FORK_SLACK = 16
"""Margin above the limit at which the kernel refuses to fork. The kernel counts refusals, so
the limit is still named."""

USER_TASKS = 16_384
"""Far above the container's own limit: Podman may not be allowed to set its default everywhere."""

OOM_SCORE = 500
MIB = 1 << 20
GONE_S = 30.0


@dataclass(frozen=True, slots=True)
class Container:
    """A running container for one job."""

    client: Any
    id: str
    user: str
    cgroup: Cgroup

    @contextmanager
    def started(self, job: Job) -> Iterator[tuple[str, socket.socket]]:
        """Yield the engine's id of the job's process, and its socket. The process waits for a line on it."""
        argv = ["/bin/sh", "-c", STARTER, *command(job)]
        process = self.client.exec_create(self.id, argv, stdin=True, user=self.user)["Id"]
        with _connection(self.client.exec_start(process, socket=True)) as stream:
            yield process, stream

    def exit_code(self, process: str) -> int | None:
        """Return the exit code of the process; None if the engine does not report it in time."""
        deadline = time.monotonic() + GONE_S
        while time.monotonic() < deadline:
            facts = self.client.exec_inspect(process)
            if not facts["Running"] and facts["ExitCode"] is not None:
                return int(facts["ExitCode"])
            time.sleep(0.01)
        return None


@contextmanager
def held_open(client: Any, image: str, job: Job, made: Scratch, cpus: float) -> Iterator[Container]:
    """Yield a running container for `job`; remove it at the end, with all its processes."""
    user = _user_for(job, made)
    mounts = _mounts(job, made, write_etc(made.etc, uid=int(user.partition(":")[0]), home=str(HOME)))
    found = client.create_container(
        image,
        entrypoint=[HOLDER],
        command=[],
        user=HOLDER_USER,
        hostname=None if job.network else HOSTNAME,
        stdin_open=True,
        labels={RUN: str(made.label)},
        host_config=client.create_host_config(**_limits(job, cpus), mounts=mounts),
    )["Id"]
    try:
        with _connection(client.attach_socket(found, params={"stdin": 1, "stream": 1})):
            client.start(found)
            pid = client.inspect_container(found)["State"]["Pid"]
            yield Container(client, found, user, cgroup_of(pid))
    finally:
        remove(client, found)


def remove(client: Any, container: str) -> None:
    """Remove a container and wait until it is gone; succeeds if it is already gone."""
    import docker.errors

    deadline = time.monotonic() + GONE_S
    while True:
        try:
            client.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _user_for(job: Job, made: Scratch) -> str:
    """Return `uid:gid` inside: ours, or for root, a new user id that owns everything writable."""
    if os.geteuid() != 0:
        return f"{os.getuid()}:{os.getgid()}"
    uid = give_to_stranger((job.checkout, job.outbox, made.home, made.tmp))
    return f"{uid}:{uid}"


def _limits(job: Job, cpus: float) -> dict[str, Any]:
    """Return the engine's limits. Files in memory count as memory, so memory includes the disk limit."""
    from docker.types import LogConfig, Ulimit

    limits = job.limits
    memory = (limits.memory_mb + limits.disk_mb) * MIB + SHM_BYTES
    ceilings = {"core": 0, "nofile": OPEN_FILES, "fsize": limits.disk_mb * MIB + DISK_SLACK, "nproc": USER_TASKS}
    return {
        "network_mode": "host" if job.network else "none",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "init": True,
        "auto_remove": True,
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": limits.processes + FORK_SLACK,
        "nano_cpus": int(cpus * 1e9),
        "shm_size": SHM_BYTES,
        "ulimits": [Ulimit(name=name, soft=value, hard=value) for name, value in ceilings.items()],
        "oom_score_adj": OOM_SCORE,
        "ipc_mode": "private",
        "tmpfs": dict.fromkeys(HIDDEN, "ro,size=4k"),
        "log_config": LogConfig(type="none"),
    }


def kept(mount: Mount) -> bool:
    """Whether the mount comes from the image instead of the host."""
    return bool(mount.content) and not any(mount.guest.is_relative_to(folder) for folder in COVERED)


def _mounts(job: Job, made: Scratch, etc: Iterable[Path]) -> list[Any]:
    from docker.types import Mount as Bind

    writable = ((made.home, HOME), (made.tmp, TMP), (job.checkout, TESTBED), (job.outbox, OUTBOX))
    shown = [(host, guest, False) for host, guest in writable]
    shown += [(path, PurePosixPath("/etc", path.name), True) for path in etc]
    shown += [(_stand_in(place, job, made), place, True) for place in _replaced(job)]
    shown += [(one.host, one.guest, not one.writable) for one in job.mounts if not kept(one)]
    for host, _, _ in shown:
        if not host.exists():  # Podman would create it
            raise SandboxError(f"docker: {host} cannot be mounted: it is not there", hint="see `swt doctor`")
    return [Bind(str(guest), str(host), type="bind", read_only=fixed) for host, guest, fixed in shown]


def _replaced(job: Job) -> tuple[PurePosixPath, ...]:
    """Return folders of the image that ours replace. A layer of ours below `CLOSED` has already opened that folder."""
    below = [mount for mount in job.mounts if mount.guest.is_relative_to(CLOSED)]
    return (OPEN, CLOSED) if below and not any(map(kept, below)) else (OPEN,)


def _stand_in(place: PurePosixPath, job: Job, made: Scratch) -> Path:
    """Return a folder that contains only the mount points of the job's own folders."""
    folder = made.root / f"in-place-of-{place.name}"
    folder.mkdir()
    for mount in (mount for mount in job.mounts if mount.guest.is_relative_to(place) and not kept(mount)):
        point = folder / mount.guest.relative_to(place)
        if mount.host.is_dir():
            point.mkdir(parents=True, exist_ok=True)
        else:
            point.parent.mkdir(parents=True, exist_ok=True)
            point.touch()
    return folder


@contextmanager
def _connection(stream: Any) -> Iterator[socket.socket]:
    """Yield the socket below the SDK's wrappers, and close it with all wrappers, since each keeps it open."""
    found = getattr(stream, "_sock", stream)
    assert isinstance(found, socket.socket)
    response = stream._response
    try:
        yield found
    finally:
        response.close()
        stream.close()
        found.close()


def orphans(client: Any) -> list[str]:
    """Return containers whose flows are dead."""
    from tasks.adapters.sandbox.label import Label

    found = []
    for facts in client.containers(all=True, filters={"label": [RUN]}):
        label = Label.parse(facts["Labels"].get(RUN, ""))
        with suppress(KeyError):
            if label is not None and label.orphaned:
                found.append(facts["Id"])
    return found
