"""The table of attempts: what code under test tries on the machine and on others, in every isolating sandbox.

Each attempt prints `ESCAPED` if it got what it wanted. It has to print `contained`, or be ended by the limit named.
"""

from __future__ import annotations

import os
import socket
from pathlib import PurePosixPath

import pytest

from tasks.adapters.sandbox.base import Mount
from tasks.adapters.sandbox.docker.engine import connected
from tasks.adapters.sandbox.docker.sandbox import Docker

TRY = """
import os, socket, sys, time
def attempt(what):
    try:
        got = what()
    except (OSError, ValueError, OverflowError):
        return
    if got:
        print("ESCAPED", got)
        sys.exit(1)
"""

ATTEMPTS = {
    "network: a server of this machine": "attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 1))",
    "network: the world": "attempt(lambda: socket.create_connection(('1.1.1.1', 53), 1))",
    "network: raw packets": "attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))",
    "network: abstract sockets": """
c = socket.socket(socket.AF_UNIX)
attempt(lambda: c.connect(chr(0) + "{abstract}") or "a socket of the host")
""",
    "Docker socket": """
for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"):
    c = socket.socket(socket.AF_UNIX)
    attempt(lambda: c.connect(path) or path)
""",
    "host files: by path": "attempt(lambda: open('{secret}').read())",
    "host files: through /proc": """
for pid in filter(str.isdigit, os.listdir("/proc")):
    for way in ("root", "cwd"):
        attempt(lambda: open(f"/proc/{{pid}}/{{way}}{secret}").read())
""",
    "host files: through a link in the outbox": """
os.symlink("{secret}", "{out}/report.jsonl")
attempt(lambda: open("{out}/report.jsonl").read())
""",
    "host files: devices": """
import stat
attempt(lambda: os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(254, 0)) or open("disk", "rb").read(1))
for name in os.listdir("/dev"):
    if name.startswith(("sd", "vd", "nvme", "mem", "kmsg", "loop", "fuse", "kvm")):
        attempt(lambda: open("/dev/" + name, "rb"))
""",
    "other instances: their checkout": "attempt(lambda: open('{other}').read())",
    "other instances: write what they share": """
attempt(lambda: open("{shared}/data", "a"))
attempt(lambda: os.chmod("{shared}/data", 0o777) or "mode")
attempt(lambda: open("{shared}/new", "w"))
""",
    "/proc: kernel settings": """
settings = ("core_pattern", "hostname", "modprobe", "randomize_va_space")
for path in (*("sys/kernel/" + name for name in settings), "sys/vm/drop_caches", "sysrq-trigger", "1/oom_score_adj"):
    attempt(lambda: open("/proc/" + path, "w").write("0"))
""",
    "/proc: memory and environment of the first process": """
for name in ("mem", "environ", "fd/0"):
    attempt(lambda: open("/proc/1/" + name, "rb").read(1))
""",
    "users: become root": """
attempt(lambda: os.setuid(0) or "uid 0")
attempt(lambda: os.system("su -c true 2>/dev/null </dev/null || sudo -n true 2>/dev/null") == 0)
""",
    "users: root of a namespace of its own": """
import ctypes
import platform, struct
libc = ctypes.CDLL(None)
NEWUSER, SIGCHLD, CLONE3 = 0x10000000, 17, 435
CLONE = {{"x86_64": 56, "aarch64": 220}}[platform.machine()]
def cloned(number, *arguments):
    pid = libc.syscall(number, *arguments)
    if pid == 0:
        os._exit(0)
    return pid > 0
flags = struct.pack("11Q", NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, 0)
attempt(lambda: libc.unshare(NEWUSER | 0x20000) == 0)
attempt(lambda: cloned(CLONE, NEWUSER | SIGCHLD, 0, 0, 0, 0))
attempt(lambda: cloned(CLONE3, flags, 88))
assert cloned(CLONE, SIGCHLD, 0, 0, 0, 0), "an ordinary process may be had"
""",
    "keyrings: a key for the next run, and the keys of the host": """
import ctypes, platform
libc = ctypes.CDLL(None)
add_key, keyctl = {{"x86_64": (248, 250), "aarch64": (217, 219)}}[platform.machine()]
SESSION, USER_SESSION, USER, DESCRIBE = -3, -5, -4, 6
for ring in (SESSION, USER_SESSION, USER):
    attempt(lambda: libc.syscall(add_key, b"user", b"seen", b"1", 1, ring) >= 0)
    attempt(lambda: libc.syscall(keyctl, DESCRIBE, ring, ctypes.create_string_buffer(200), 200) >= 0)
""",
    "page cache: is a file of the system in memory": """
with open("/usr/bin/env", "rb") as file:
    attempt(lambda: os.preadv(file.fileno(), [bytearray(16)], 0, os.RWF_NOWAIT))
""",
    "kernel: programs, counters, page faults": """
import ctypes, platform
libc = ctypes.CDLL(None)
room = ctypes.create_string_buffer(256)
bpf, perf, fault = {{"x86_64": (321, 298, 323), "aarch64": (280, 241, 282)}}[platform.machine()]
CACHESTAT = 451
attempt(lambda: libc.syscall(bpf, 0, (ctypes.c_uint32 * 16)(2, 4, 4, 1), 64) >= 0)
attempt(lambda: libc.syscall(perf, (ctypes.c_uint64 * 16)(1 | 112 << 32), 0, -1, -1, 0) >= 0)
attempt(lambda: libc.syscall(fault, 1) >= 0)
attempt(lambda: libc.syscall(CACHESTAT, 0, (ctypes.c_uint64 * 2)(), room, 0) >= 0)
""",
    "kernel: rings of calls": """
import ctypes
IO_URING_SETUP = 425
attempt(lambda: ctypes.CDLL(None).syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(256)) >= 0)
""",
    "kernel: sockets to the machine's own host": """
attempt(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
""",
    "processes: end the first one": """
attempt(lambda: os.kill(1, 9) or time.sleep(0.2) or not os.path.exists("/proc/1") and "gone")
""",
    "mounts: make one": """
import ctypes
libc = ctypes.CDLL(None)
attempt(lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
attempt(lambda: libc.umount2(b"/testbed", 2) == 0)
attempt(lambda: libc.chroot(b"/tmp") == 0)
""",
    "system: write it": """
for path in ("/usr/x", "/etc/passwd", "/x", "/bin/x", "/dev/x"):
    attempt(lambda: open(path, "a"))
""",
}

LEFT_BY_OLD_ENGINES = ("kernel: rings of calls", "kernel: sockets to the machine's own host")
"""The system-call profile is the engine's own, and refuses these since Docker 25."""

ENDED = {
    "fork bomb": ("processes", "while True:\n    try: os.fork()\n    except OSError: pass"),
    "fork bomb of threads": (
        "processes",
        "import threading\nwhile True:\n"
        "    try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "    except RuntimeError: pass",
    ),
    "memory": ("memory", "kept = []\nwhile True: kept.append(bytearray(32 << 20))"),
    "memory: of files without a name": (
        "disk or memory",
        "kept = []\nwhile True: kept.append(os.memfd_create('x')); os.write(kept[-1], b'x' * (4 << 20))",
    ),
    "files that hold nothing": (
        "files",
        "import itertools\nfor n in itertools.count(): open(f'{n:x}', 'w').close()",
    ),
    "disk": ("disk", "with open('big', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20)); f.flush()"),
}


def engine_is_older(sandbox, major):
    if not isinstance(sandbox, Docker):
        return False
    with connected(sandbox.settings) as client:
        return int(client.version()["Version"].partition(".")[0]) < major


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_is_contained(isolating, name, tmp_path):
    if name in LEFT_BY_OLD_ENGINES and engine_is_older(isolating.sandbox, 25):
        pytest.skip("this engine is older than Docker 25, and its profile lets it through")
    other, shared = isolating.beside("other"), tmp_path / "shared"
    (other.checkout / "answer").write_text("of another instance")
    (tmp_path / "secret").write_text("of the host")
    shared.mkdir()
    (shared / "data").write_text("x")
    abstract = f"swt-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as host, socket.socket(socket.AF_UNIX) as local:
        local.bind("\0" + abstract)
        local.listen()
        body = ATTEMPTS[name].format(
            port=host.getsockname()[1],
            abstract=abstract,
            secret=tmp_path / "secret",
            other=other.checkout / "answer",
            shared=shared,
            out=isolating.out(),
        )
        finished = isolating.python(
            f"{TRY}\n{body}\nprint('contained')", mounts=(Mount(shared, PurePosixPath(shared)),)
        )
    assert isolating.said() == "contained\n"
    assert finished.exit_code == 0
    assert [path for path in isolating.outbox.rglob("*") if path.is_symlink()] == []
    assert (shared / "data").read_text() == "x"


@pytest.mark.parametrize("name", ENDED)
def test_an_attempt_is_ended_by_its_limit(isolating, name):
    limit, body = ENDED[name]
    finished = isolating.python(f"import os, time\n{body}", processes=100, memory_mb=200, disk_mb=64, wall_s=60)
    assert finished.limit in limit.split(" or "), finished
    assert isolating.python("print('the machine goes on')").exit_code == 0
