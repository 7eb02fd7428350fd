"""The bubblewrap sandbox: own namespaces, no network, a read-only system, and only the job's folders of the host.

A job must never run as the host's root, so there are two ways to the same inside:

- as an ordinary user: a user namespace, in which the job is uid 1000;
- as root: no user namespace. bwrap drops every capability but those for changing the user. `setpriv` then changes to an
  otherwise unused user id, one per run, which owns the checkout and the outbox. File permissions and RLIMIT_NPROC then
  work; with root mapped into a user namespace neither would.

In both cases a system-call filter blocks calls that tests do not need (`seccomp.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from tasks.adapters.sandbox import scratch as folders
from tasks.adapters.sandbox.base import TESTBED, Finished, Job
from tasks.adapters.sandbox.guest import HOME, OUTBOX, SHM_BYTES, TMP, command, guest_path
from tasks.adapters.sandbox.guest import PATH as GUEST_PATH
from tasks.adapters.sandbox.guest_system import HOSTNAME, system_arguments, write_etc
from tasks.adapters.sandbox.owner import give_to_stranger
from tasks.adapters.sandbox.scratch import Scratch, scratch
from tasks.adapters.sandbox.seccomp import job_filter
from tasks.adapters.sandbox.supervise import finished, from_shell, order_for, supervise
from tasks.adapters.sandbox.supervisor.order import Verdict
from tasks.adapters.sandbox.supervisor.overlay import Layers
from tasks.domain.errors import SandboxError
from tasks.domain.outcome import SandboxKind

ORDINARY_UID = 1000
OWN_TASKS = 2
"""bwrap outside, and bwrap as init inside."""

NPROC_SLACK = 50
"""Margin above the limit at which the kernel refuses to fork: enough for the supervisor to see the excess.

With a margin of a thousand, a fork bomb used two cores for a hundred seconds before it was killed. A job that ends
right after a refused fork may be gone before the check: then it has failed, and no limit is named.
"""

NPROC_SHARED = 1000
"""The margin if the job runs as its caller, whose other processes count too."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Runs the job under bwrap (containers/bubblewrap, 0.6 or newer). One Linux machine, no engine, no daemon."""

    base: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Folder for the private folders of runs."""

    program: str = field(default_factory=lambda: _found("bwrap"))
    """Absolute path from the caller's PATH, since it starts with another PATH and in another folder. Empty if not
    found."""

    @property
    def kind(self) -> SandboxKind:
        return SandboxKind.BUBBLEWRAP

    @property
    def isolates(self) -> bool:
        return True

    def overlays(self, bases: Path) -> bool:
        return _overlays(self.program, self.base, bases)

    def guest(self, job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
        """Return the path below /testbed or /swt/out. Raises `ValueError` if the path is in neither folder."""
        return guest_path(job_path, checkout=checkout, outbox=outbox)

    def run(self, job: Job) -> Finished:
        with scratch(self.base) as made:
            uid = _user_for(job, made)
            with made.overlay(job, owner=uid if os.geteuid() == 0 else None) as layers:
                return _finished(self._supervised(job, made, uid, layers), job)

    def _supervised(self, job: Job, made: Scratch, uid: int, layers: Layers | None) -> Verdict:
        syscalls = job_filter(os.uname().machine)
        order = order_for(
            job,
            made,
            argv=(self.program, "--args", "{hidden_fd}", "--", *_command(job, uid)),
            hidden=(*_options(job, made, uid), *(("--seccomp", "{syscalls_fd}") if syscalls else ())),
            syscalls=syscalls,
            env={"PATH": GUEST_PATH},
            cwd=Path("/"),
            own_tasks=OWN_TASKS,
            nproc=job.limits.processes + NPROC_SLACK if os.geteuid() == 0 else None,
            layers=layers,
        )
        try:
            return supervise(order)
        finally:
            folders.keep_plain_files(job.outbox)

    def sweep(self) -> int:
        return folders.sweep(self.base)

    def why_not(self) -> str:
        """Run a test job; return the reason for a failure in one line, empty if it works."""
        if not self.program:
            return "bwrap is not on PATH (package `bubblewrap`)"
        with tempfile.TemporaryDirectory(dir=self.base) as name:
            folder = Path(name)
            for part in ("checkout", "outbox"):
                (folder / part).mkdir()
            job = Job(argv=("true",), checkout=folder / "checkout", outbox=folder / "outbox", log=folder / "log")
            try:
                code = self.run(job).exit_code
            except SandboxError as problem:
                return str(problem)
            return "" if code == 0 else f"a first try ended with exit code {code}"


def _found(program: str) -> str:
    path = shutil.which(program)
    return str(Path(path).absolute()) if path else ""


@cache
def _overlays(program: str, base: Path, bases: Path) -> bool:
    """Run a test job: whether it sees a file of a base, and its own file is written."""
    with folders.spare_folder(base) as folder, folders.spare_folder(bases) as below:
        for part in ("checkout", "outbox"):
            (folder / part).mkdir()
        (below / "seen").touch()
        below.chmod(0o755)
        job = Job(
            argv=("cp", "seen", "written"),
            checkout=folder / "checkout",
            base=below,
            outbox=folder / "outbox",
            log=folder / "log",
        )
        try:
            return Bubblewrap(base, program).run(job).exit_code == 0 and (job.checkout / "written").is_file()
        except SandboxError:
            return False


def _user_for(job: Job, made: Scratch) -> int:
    """Return the user inside; for root, a new user id that owns everything writable."""
    if os.geteuid() != 0:
        return ORDINARY_UID
    return give_to_stranger((job.checkout, job.outbox, made.home, made.tmp))


def _options(job: Job, made: Scratch, uid: int) -> list[str]:
    return [
        *_namespaces(job),
        *_open_folders("/etc", "/home", "/swt"),
        *system_arguments(),
        *_etc(made, uid),
        *_network(job),
        *_devices(),
        *_folders(job, made),
        *("--remount-ro", "/", "--json-status-fd", "{report_fd}"),
    ]


def _etc(made: Scratch, uid: int) -> list[str]:
    files = write_etc(made.etc, uid=uid, home=str(HOME))
    return [word for path in files for word in ("--ro-bind", str(path), f"/etc/{path.name}")]


def _command(job: Job, uid: int) -> list[str]:
    return [*_become(job, uid), *command(job)]


def _namespaces(job: Job) -> list[str]:
    words = ["--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--hostname", HOSTNAME, "--clearenv"]
    if not job.network:
        words.append("--unshare-net")
    if os.geteuid() == 0:
        words += ["--cap-drop", "ALL"]
        return words + [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
    return [*words, "--unshare-user", "--uid", str(ORDINARY_UID), "--gid", str(ORDINARY_UID)]


def _network(job: Job) -> list[str]:
    return ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"] if job.network else []


def _devices() -> list[str]:
    """Return options for /proc and /dev. A small /dev/shm is the only writable memory."""
    shm = ["--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108 - inside
    return ["--proc", "/proc", "--dev", "/dev", *shm, "--remount-ro", "/dev"]


def _folders(job: Job, made: Scratch) -> list[str]:
    writable = ((made.home, HOME), (made.tmp, TMP), (made.checkout(job), TESTBED), (job.outbox, OUTBOX))
    words = [word for host, guest in writable for word in ("--bind", str(host), str(guest))]
    for mount in job.mounts:
        words += _open_folders(*(str(folder) for folder in reversed(mount.guest.parents[:-1])))
        words += ["--bind" if mount.writable else "--ro-bind", str(mount.host), str(mount.guest)]
        for folder in mount.hidden:
            seen = str(mount.guest / folder.relative_to(mount.host))
            words += ["--tmpfs", seen, "--remount-ro", seen]
    return words


def _open_folders(*names: str) -> list[str]:
    """Create folders that everybody may enter: bwrap creates parents of some mounts for their owner only."""
    return [word for name in names for word in ("--perms", "0755", "--dir", name)]


def _become(job: Job, uid: int) -> list[str]:
    """Return the command prefix that sets our user, and limits that apply only inside."""
    if os.geteuid() != 0:
        return ["/usr/bin/prlimit", f"--nproc={job.limits.processes + NPROC_SHARED}", "--"]
    drop = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--pdeathsig", "KILL", "--"]
    return ["/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *drop]


def _finished(verdict: Verdict, job: Job) -> Finished:
    if verdict.exit_code is not None and not _started(verdict.report):
        raise SandboxError(f"bubblewrap could not start the job: {_last_line(job.log)}", hint="see `swt doctor`")
    return finished(verdict, from_shell(verdict.exit_code))


def _started(report: str) -> bool:
    """Whether bwrap started the job: only then does it report an exit code (its --json-status-fd)."""
    return any("exit-code" in json.loads(line) for line in report.splitlines())


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    return lines[-1] if lines else "it said nothing"
