"""The contract that every sandbox keeps: what a job sees, and how its end is told."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import pytest

from tasks.adapters.sandbox import scratch as folders
from tasks.adapters.sandbox.base import Mount
from tasks.adapters.sandbox.label import MARKER
from tasks.domain.errors import SandboxError
from tasks.domain.outcome import SandboxKind


@pytest.mark.parametrize("code", [0, 1, 2, 5, 77, 120])
def test_exit_codes(bench, code):
    finished = bench.python(f"raise SystemExit({code})")
    assert (finished.exit_code, finished.timed_out, finished.limit) == (code, False, "")


@pytest.mark.parametrize("number", [2, 6, 9, 11, 15])
def test_signals_are_negative(bench, number):
    assert bench.python(f"import os; os.kill(os.getpid(), {number})").exit_code == -number


def test_signals_that_we_ignore_are_not_ignored_in_a_job(bench):
    """As where a shell started us with `&`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert bench.python("import os; os.kill(os.getpid(), 2)").exit_code == -2
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_missing_program_is_127(bench):
    assert bench.sandbox.run(bench.job("no-such-program")).exit_code == 127
    assert "no-such-program" in bench.said()


def test_output_is_interleaved_and_utf8(bench):
    bench.python("""
        import sys
        print("eins ✓", flush=True)
        print("zwei \\N{GREEK SMALL LETTER ALPHA}", file=sys.stderr, flush=True)
        sys.stdout.buffer.write(b"\\xff\\n")
    """)
    assert bench.log.read_bytes() == "eins ✓\nzwei α\n".encode() + b"\xff\n"


def test_output_by_name(bench):
    assert bench.python("open('/dev/stdout', 'w').write('by name')").exit_code == 0, bench.said()
    assert bench.said() == "by name"


def test_big_files_come_out(bench):
    finished = bench.python(f"open('{bench.out()}/big', 'wb').write(bytes(range(256)) * 400_000)")
    assert finished.exit_code == 0, bench.said()
    assert (bench.outbox / "big").read_bytes() == bytes(range(256)) * 400_000


def test_only_files_and_folders_come_out(bench):
    bench.python(f"""
        import os
        os.chdir("{bench.out()}")
        os.symlink("/etc/passwd", "report")
        os.symlink("/", "folder")
        os.mkfifo("pipe")
        os.makedirs("a/b")
        os.symlink("/etc/passwd", "a/b/link")
        open("a/b/file", "w").close()
    """)
    found = sorted(str(path.relative_to(bench.outbox)) for path in bench.outbox.rglob("*"))
    assert found == ["a", "a/b", "a/b/file"]


def test_a_maze_in_the_outbox_stops_nobody(bench):
    finished = bench.python(f"""
        import os
        os.chdir("{bench.out()}")
        for _ in range(1100):
            os.mkdir("d")
            os.chdir("d")
        os.symlink("/etc/passwd", "deep")
    """)
    assert finished.exit_code == 0, bench.said()
    folders.remove(bench.outbox)
    assert not bench.outbox.exists()


def test_a_program_with_an_equals_sign_in_its_path(bench):
    program = bench.checkout / "env_id=1"
    program.write_text("#!/bin/sh\necho $1 $A\n")
    program.chmod(0o755)
    guest = bench.sandbox.guest(program, checkout=bench.checkout, outbox=bench.outbox)
    assert bench.sandbox.run(bench.job(str(guest), "two words", env={"A": "a=b"})).exit_code == 0
    assert bench.said() == "two words a=b\n"


def test_environment_is_exact(bench):
    print_env = "import json, os; print(json.dumps(dict(os.environ)))"
    bench.python(print_env, env={"A": "1", "EMPTY": "", "ODD": "x=y z\nü"})
    seen = json.loads(bench.said())
    seen.pop(MARKER, None)
    own = {name: seen.pop(name) for name in ("HOME", "TMPDIR", "PATH", "LANG")}
    assert seen == {"A": "1", "EMPTY": "", "ODD": "x=y z\nü"}
    assert own["LANG"] == "C.UTF-8"


def test_the_job_may_set_what_is_the_sandboxs_own(bench):
    bench.python("import os; print(os.environ['HOME'], os.environ['LANG'])", env={"HOME": "/tmp", "LANG": "C"})
    assert bench.said() == "/tmp C\n"


def test_it_starts_in_the_checkout(bench):
    bench.python("import os; print(os.getcwd())")
    guest = bench.sandbox.guest(bench.checkout, checkout=bench.checkout, outbox=bench.outbox)
    assert bench.said().strip() == str(guest)


def test_the_checkout_is_writable(bench):
    (bench.checkout / "src").mkdir()
    (bench.checkout / "src" / "a.py").write_text("old")
    finished = bench.python("open('src/a.py', 'a').write('new'); open('src/b.py', 'w').write('b')")
    assert finished.exit_code == 0, bench.said()
    assert (bench.checkout / "src" / "a.py").read_text() == "oldnew"
    assert (bench.checkout / "src" / "b.py").read_text() == "b"


def test_a_private_checkout_folder_will_do(bench):
    bench.checkout.chmod(0o700)
    bench.outbox.chmod(0o700)
    assert bench.python("print('fine')").exit_code == 0, bench.said()


def test_standard_input_is_empty(bench):
    bench.python("import sys; print(repr(sys.stdin.read()))")
    assert bench.said() == "''\n"


def test_no_descriptors_are_inherited(bench):
    bench.python("import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])")
    assert bench.said() == "[0, 1, 2]\n"


def test_home_and_tmp_are_private_and_removed(bench):
    code = """
        import os, tempfile
        for folder in (os.path.expanduser("~"), tempfile.gettempdir()):
            assert os.listdir(folder) == [], folder
            path = os.path.join(folder, "left-by-a-job")
            open(path, "w").close()
            os.mkdir(path + "-folder")
            os.chmod(path + "-folder", 0)
    """
    for _ in range(2):
        assert bench.python(code).exit_code == 0, bench.said()
    assert not list(Path(bench.sandbox.base).glob(f"swt-run-{os.getpid()}-*"))


def test_mounts_are_seen_at_their_place(bench, tmp_path):
    tool = tmp_path / "tool"
    tool.mkdir()
    (tool / "words").write_text("hello")
    mounts = (Mount(tool, PurePosixPath(tool)),)
    bench.python(f"print(open('{tool}/words').read())", mounts=mounts)
    assert bench.said() == "hello\n"


def test_wall_is_measured(bench):
    began = time.monotonic()
    finished = bench.python("import time; time.sleep(0.5)")
    assert 0.5 <= finished.wall_s <= time.monotonic() - began


def test_cpu_of_grandchildren_counts(bench):
    finished = bench.python("""
        import os, time
        def burn():
            while time.process_time() < 0.3:
                pass
        if os.fork() == 0:
            if os.fork() == 0:
                burn()
            else:
                os.wait()
            os._exit(0)
        os.wait()
        done, tell = os.pipe()
        if os.fork() == 0:
            burn()  # nobody waits for this one
            os.write(tell, b"x")
            time.sleep(60)
        os.read(done, 1)
        time.sleep(0.7)
    """)
    assert finished.cpu_s is not None
    assert 0.5 < finished.cpu_s < 2.0


def test_cpu_of_killed_processes_counts(bench):
    finished = bench.python(
        """
        import os, time
        parent = os.fork()
        while time.process_time() < 0.3:
            pass
        if parent:
            time.sleep(0.2)
            os.waitid(os.P_PID, parent, os.WEXITED | os.WNOWAIT)
            kept = b"x" * (400 << 20)
            time.sleep(20)
        """,
        memory_mb=200,
    )
    assert finished.limit == "memory"
    assert finished.cpu_s is not None
    assert 0.5 < finished.cpu_s < 1.5


def test_parallel_runs_do_not_meet(bench):
    benches = [bench.beside(str(index)) for index in range(6)]
    code = """
        import os, sys, tempfile, time
        open(os.path.join(tempfile.gettempdir(), "mine"), "x").close()
        time.sleep(0.3)
        print(os.listdir(tempfile.gettempdir()))
        sys.exit({index})
    """
    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(lambda pair: pair[1].python(code.format(index=pair[0])).exit_code, enumerate(benches)))
    assert ends == list(range(6))
    assert {one.said() for one in benches} == {"['mine']\n"}


def test_guest_paths(bench):
    paths = {"checkout": bench.checkout, "outbox": bench.outbox}
    isolates = bench.sandbox.isolates
    assert bench.sandbox.guest(bench.checkout / "a" / "b", **paths) == (
        PurePosixPath("/testbed/a/b") if isolates else PurePosixPath(bench.checkout / "a" / "b")
    )
    with pytest.raises(ValueError, match="neither in the checkout"):
        bench.sandbox.guest(Path("/etc/passwd"), **paths)


def test_what_isolates_nothing_refuses_to_pretend(bench, tmp_path):
    if bench.sandbox.kind is not SandboxKind.PROCESS:
        pytest.skip("this one can show a folder anywhere")
    with pytest.raises(SandboxError, match="cannot show"):
        bench.sandbox.run(bench.job("true", mounts=(Mount(tmp_path, PurePosixPath("/elsewhere")),)))
