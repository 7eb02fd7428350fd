"""One throwaway container: what it may do, how it starts, how it is removed.

Its first process holds it open and does nothing. It reads from a connection of the flow's own, so that it ends when
the flow is killed, and with it, as the first process of a PID namespace, everything else inside. The job is a second
process, of a user who can neither see into the first nor end it.
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
"""Label of everything that is started: the run and its owner, see `label.py`."""

HOLDER = "/bin/cat"
HOLDER_USER = "65534:65534"
HIDDEN = ("/sys", "/dev/mqueue")
"""Of the machine, or writable: an empty read-only file system lies over them."""

CLOSED = PurePosixPath("/root")
"""Images let nobody enter it, so what is mounted below needs another folder in its place."""

OPEN = PurePosixPath("/var/tmp")  # noqa: S108 - inside
"""Podman makes it writable, in memory; an empty read-only folder takes its place."""

COVERED = (TMP, HOME, TESTBED, OUTBOX, OPEN, *map(PurePosixPath, ("/dev", "/proc", "/sys")))
"""Where a container shows something of its own: what an image holds below cannot be seen."""

FORK_SLACK = 16
"""So far above the limit the kernel refuses to fork; it counts what it refuses, so the limit is named all the same."""

USER_TASKS = 16_384
"""Far above the container's own limit: Podman's default is more than it may set everywhere."""

OOM_SCORE = 500
MIB = 1 << 20
GONE_S = 30.0


@dataclass(frozen=True, slots=True)
class Container:
    """A container that is held open, for one job."""

    client: Any
    id: str
    user: str
    cgroup: Cgroup

    @contextmanager
    def started(self, job: Job) -> Iterator[tuple[str, socket.socket]]:
        """The job's process, waiting for a line on its socket; the id under which the engine knows it."""
        argv = ["/bin/sh", "-c", STARTER, *command(job)]
        process = self.client.exec_create(self.id, argv, stdin=True, user=self.user)["Id"]
        with _connection(self.client.exec_start(process, socket=True)) as stream:
            yield process, stream

    def exit_code(self, process: str) -> int | None:
        """How the process ended; null where the engine does not say so in time."""
        deadline = time.monotonic() + GONE_S
        while time.monotonic() < deadline:
            facts = self.client.exec_inspect(process)
            if not facts["Running"] and facts["ExitCode"] is not None:
                return int(facts["ExitCode"])
            time.sleep(0.01)
        return None


@contextmanager
def held_open(client: Any, image: str, job: Job, made: Scratch, cpus: float) -> Iterator[Container]:
    """A container for `job`, gone at the end with all that runs in it."""
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
    """End it and wait until it is gone; one that is gone already, or going, will do."""
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
    """`uid:gid` inside: ours, or where we are root, one of its own that owns all it may write."""
    if os.geteuid() != 0:
        return f"{os.getuid()}:{os.getgid()}"
    uid = give_to_stranger((job.checkout, job.outbox, made.home, made.tmp))
    return f"{uid}:{uid}"


def _limits(job: Job, cpus: float) -> dict[str, Any]:
    """What the engine holds the container to. The memory of files counts as memory, hence the room for the disk."""
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
    """Whether it comes from the image and not from the host."""
    return bool(mount.content) and not any(mount.guest.is_relative_to(folder) for folder in COVERED)


def _mounts(job: Job, made: Scratch, etc: Iterable[Path]) -> list[Any]:
    from docker.types import Mount as Bind

    writable = ((made.home, HOME), (made.tmp, TMP), (job.checkout, TESTBED), (job.outbox, OUTBOX))
    shown = [(host, guest, False) for host, guest in writable]
    shown += [(path, PurePosixPath("/etc", path.name), True) for path in etc]
    shown += [(_stand_in(place, job, made), place, True) for place in _replaced(job)]
    shown += [(one.host, one.guest, not one.writable) for one in job.mounts if not kept(one)]
    for host, _, _ in shown:
        if not host.exists():  # Podman would make it
            raise SandboxError(f"docker: {host} cannot be mounted: it is not there", hint="see `swt doctor`")
    return [Bind(str(guest), str(host), type="bind", read_only=fixed) for host, guest, fixed in shown]


def _replaced(job: Job) -> tuple[PurePosixPath, ...]:
    """Folders of the image in whose place ours are shown. A layer of ours below `CLOSED` has opened that already."""
    below = [mount for mount in job.mounts if mount.guest.is_relative_to(CLOSED)]
    return (OPEN, CLOSED) if below and not any(map(kept, below)) else (OPEN,)


def _stand_in(place: PurePosixPath, job: Job, made: Scratch) -> Path:
    """A folder that holds nothing but the points where the job's own folders go."""
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
    """The socket below the SDK's wrappers of it, really closed at the end: each of them holds it open."""
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
    """Containers whose flows are gone."""
    from tasks.adapters.sandbox.label import Label

    found = []
    for facts in client.containers(all=True, filters={"label": [RUN]}):
        label = Label.parse(facts["Labels"].get(RUN, ""))
        with suppress(KeyError):
            if label is not None and label.orphaned:
                found.append(facts["Id"])
    return found
