"""What a job in an isolating sandbox cannot do, whoever started the flow."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from tasks.adapters.sandbox.base import Mount
from tasks.domain.errors import SandboxError

PYTHON = str(Path(sys.executable).resolve())


def test_no_network_but_a_loopback(isolating):
    with socket.create_server(("127.0.0.1", 0)) as host:
        port = host.getsockname()[1]
        finished = isolating.python(f"""
            import socket
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname(), 2).close()
            for address in (("127.0.0.1", {port}), ("1.1.1.1", 53)):
                try:
                    socket.create_connection(address, 2)
                except OSError as problem:
                    print(address[0], "refused")
            print([name for _, name in socket.if_nameindex()])
        """)
    assert finished.exit_code == 0, isolating.said()
    assert isolating.said() == "127.0.0.1 refused\n1.1.1.1 refused\n['lo']\n"


def test_the_network_where_it_is_asked_for(isolating):
    with socket.create_server(("127.0.0.1", 0)) as host:
        (isolating.checkout / "job.py").write_text(
            f"import socket; socket.create_connection({host.getsockname()!r}, 5).close()"
        )
        job = replace(isolating.job(PYTHON, "-ISu", "job.py"), network=True)
        assert isolating.sandbox.run(job).exit_code == 0, isolating.said()


def test_nothing_else_can_be_written(isolating):
    finished = isolating.python("""
        import os, sys
        assert os.statvfs("/usr").f_flag & os.ST_RDONLY
        assert os.statvfs(sys.prefix).f_flag & os.ST_RDONLY
        allowed = ("/usr", sys.prefix, "/proc", "/testbed", "/swt/out", "/tmp", "/home/swt", "/dev/shm", "/dev/pts")
        for folder, folders, files in os.walk("/"):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in allowed]
            if os.access(folder, os.W_OK):
                print("folder", folder)
            for name in files:
                path = os.path.join(folder, name)
                if os.access(path, os.W_OK) and not os.path.islink(path) and not path.startswith("/dev/"):
                    print("file", path)
        for path in ("/x", "/usr/x", "/etc/x", "/dev/x", "/home/x", "/swt/x", "/proc/sys/kernel/core_pattern"):
            try:
                open(path, "w").close()
                print("wrote", path)
            except OSError:
                pass
    """)
    assert finished.exit_code == 0
    assert isolating.said() == ""


def test_mounts_are_read_only_unless_asked(isolating, tmp_path):
    for name in ("fixed", "free"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    mounts = (
        Mount(tmp_path / "fixed", PurePosixPath("/opt/fixed")),
        Mount(tmp_path / "free", PurePosixPath("/opt/free"), writable=True),
    )
    isolating.python(
        """
        for name in ("fixed", "free"):
            try:
                open(f"/opt/{name}/x", "w").close()
            except OSError as problem:
                print(name, problem.strerror)
        """,
        mounts=mounts,
    )
    assert isolating.said() == "fixed Read-only file system\n"
    assert (tmp_path / "free" / "x").exists()


def test_host_files_are_invisible(isolating, tmp_path):
    """Files planted where the machine keeps its own; a container shows the image's folders of these names."""
    folders = (tmp_path, *(Path(name) for name in ("/var/tmp", "/mnt", "/srv", "/opt", "/root", "/run", "/boot")))
    planted = [path / f"swt-planted-{os.getpid()}" for path in folders if os.access(path, os.W_OK)]
    for path in planted:
        path.write_text("of the host")
    try:
        isolating.python(f"""
            import os
            print([path for path in {[str(path) for path in planted]} if os.path.exists(path)])
            print(os.listdir("/home"), os.listdir("/swt"))
            print([path for path in ("/var/run/docker.sock", "/run/docker.sock", "/sys/class") if os.path.exists(path)])
        """)
    finally:
        for path in planted:
            path.unlink()
    assert isolating.said() == "[]\n['swt'] ['out']\n[]\n"


def test_host_secrets_cannot_be_read(isolating):
    isolating.python("""
        import glob
        for path in ("/etc/shadow", "/etc/sudoers", "/etc/machine-id", "/etc/fstab", *glob.glob("/etc/ssh/*")):
            try:
                text = open(path).read()
            except OSError:
                continue
            if text and not text.startswith(("# UNCONFIGURED", "uninitialized")):
                print(path)
    """)
    assert isolating.said() == ""


def test_host_paths_are_not_told(isolating):
    isolating.python("""
        import glob
        for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
            try:
                print(open(path).read().replace("\\0", " "))
            except OSError:
                pass
    """)
    assert str(isolating.root) not in isolating.said()


def test_host_processes_are_invisible(isolating):
    isolating.python(
        """
        import os
        print(len([name for name in os.listdir("/proc") if name.isdigit()]))
        try:
            os.kill(HOST, 0)
        except ProcessLookupError:
            print("unknown")
    """.replace("HOST", str(os.getpid()))
    )
    count, host = isolating.said().split()
    assert int(count) <= 3, "itself, an init, and what holds a container open"
    assert host == "unknown"


def test_it_is_nobody_with_no_way_up(isolating):
    isolating.python("""
        import os, pwd, socket
        facts = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(os.getuid() > 0, os.getgid() > 0, [g for g in os.getgroups() if g != os.getgid()])
        print(*(int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")))
        print(facts["NoNewPrivs"].strip(), pwd.getpwuid(os.getuid()).pw_name, socket.gethostname())
        print(os.stat(".").st_uid == os.getuid(), os.getsid(0) != 0)
    """)
    lines = isolating.said().splitlines()
    assert lines[0] == "True True []"
    assert lines[1:] == ["0 0 0 0 0", "1 swt sandbox", "True True"]


def test_a_mirrors_files_cannot_be_written_through_hard_links(isolating, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's job owns what the user owns")
    mirror = tmp_path / "object"
    mirror.write_text("kept")
    mirror.chmod(0o444)
    (isolating.checkout / "object").hardlink_to(mirror)
    isolating.python("""
        import os
        try:
            os.chmod("object", 0o644)
            open("object", "w").write("spoilt")
        except PermissionError:
            print(open("object").read())
    """)
    assert isolating.said() == "kept\n"
    assert mirror.read_text() == "kept"


def test_a_sandbox_that_cannot_start_is_our_failure(isolating):
    job = isolating.job("true", mounts=(Mount(Path("/no/such/folder"), PurePosixPath("/opt/x")),))
    with pytest.raises(SandboxError, match="/no/such/folder"):
        isolating.sandbox.run(job)
