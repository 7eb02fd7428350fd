"""Limits: each job here is meant to do harm, and the machine must not notice."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from tasks.adapters.folders import remove
from tasks.adapters.sandbox.supervisor import tree

pytestmark = pytest.mark.slow  # waits for limits

MIB = 1 << 20


def test_a_timeout_keeps_the_partial_log_and_ends_the_tree(bench, alive):
    own = f"61.{os.getpid()}"
    finished = bench.python(
        f"""
        import os, subprocess, sys, time
        print("so far", flush=True)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep({own})"])
        time.sleep(60)
        """,
        wall_s=1.0,
    )
    assert (finished.exit_code, finished.timed_out, finished.limit) == (None, True, "")
    assert finished.wall_s >= 1.0
    assert bench.said() == "so far\n"
    assert not alive(own)


def test_signals_do_not_save_a_job_from_a_timeout(bench):
    finished = bench.python(
        """
        import signal, time
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        time.sleep(60)
        """,
        wall_s=0.7,
    )
    assert finished.timed_out


def test_memory_of_one_process(bench):
    finished = bench.python("import time; kept = b'x' * (400 << 20); time.sleep(900)", memory_mb=200)
    assert (finished.exit_code, finished.limit) == (None, "memory")


def test_memory_of_the_whole_tree(bench):
    finished = bench.python(
        """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                kept = b"x" * (60 << 20)
                time.sleep(20)
        time.sleep(20)
        """,
        memory_mb=200,
    )
    assert finished.limit == "memory"


def test_shared_memory_counts_once(bench):
    finished = bench.python(
        """
        import os, time
        kept = b"x" * (120 << 20)
        for _ in range(25):
            end = time.monotonic() + 0.1
            for _ in range(6):
                if os.fork() == 0:
                    time.sleep(max(0, end - time.monotonic()))
                    os._exit(0)
            time.sleep(0.15)
            while True:
                try:
                    os.wait()
                except ChildProcessError:
                    break
        """,
        memory_mb=300,
    )
    assert (finished.exit_code, finished.limit) == (0, "")


def test_what_has_ended_takes_no_memory(until):
    """Processes that share much and end together were counted in full at that moment, and the job was ended for it."""
    child = subprocess.Popen(["true"])
    until(lambda: tree.member(child.pid).state == "Z")
    seen = tree.member(child.pid)._replace(rss=1 << 40)
    assert tree.memory([seen], 1) == 0
    child.wait()
    assert tree.memory([seen], 1) == 0


def test_a_fork_bomb(bench, alive):
    finished = bench.python(
        """
        import os, time
        bomb = "fork-bomb-4711"
        for _ in range(1000):
            try:
                if os.fork() == 0:
                    time.sleep(900)
                    os._exit(0)
            except OSError:
                time.sleep(0.01)
        time.sleep(900)
        """,
        processes=100,
    )
    assert (finished.exit_code, finished.limit) == (None, "processes")
    assert not alive(str(bench.checkout))


def test_an_exponential_fork_bomb(bench):
    finished = bench.python(
        """
        import os, time
        for _ in range(11):
            try: os.fork()
            except OSError: pass
        time.sleep(900)
        """,
        processes=100,
    )
    assert finished.limit == "processes"


def test_threads_are_tasks(bench):
    finished = bench.python(
        """
        import threading, time
        for _ in range(120):
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        time.sleep(20)
        """,
        processes=100,
    )
    assert finished.limit == "processes"


def test_as_many_processes_as_allowed(bench):
    finished = bench.python(
        """
        import os, time
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(0.5)
                os._exit(0)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        """,
        processes=50,
    )
    assert (finished.exit_code, finished.limit) == (0, "")


def test_disk_in_one_file(bench):
    fill = "import time\nwith open('big', 'wb') as f:\n  while True: f.write(b'x' * (1 << 20)); time.sleep(0.01)"
    finished = bench.python(fill, disk_mb=60)
    assert (finished.exit_code, finished.limit) == (None, "disk")


def test_disk_in_many_files_everywhere(bench):
    finished = bench.python(
        f"""
        import os, tempfile, time
        folders = (".", "{bench.out()}", os.path.expanduser("~"), tempfile.gettempdir())
        for index in range(100_000):
            with open(f"{{folders[index % 4]}}/{{index}}", "wb") as file:
                file.write(b"x" * (1 << 20))
            time.sleep(0.002)
        """,
        disk_mb=60,
    )
    assert finished.limit == "disk"
    assert sum(path.stat().st_size for path in bench.root.rglob("*") if path.is_file()) < 1024 * MIB


FILL = """
with open("big", "wb") as file:
    for _ in range(150):
        file.write(b"x" * (1 << 20))
        file.flush()
        time.sleep(0.01)
time.sleep(60)
"""


@pytest.mark.parametrize(("levels", "name"), [(20, "x" * 250), (6000, "d")])
def test_disk_below_a_path_that_is_too_long_to_open(bench, levels, name):
    descend = f"import os, time\nfor _ in range({levels}):\n  os.mkdir({name!r}); os.chdir({name!r})\n"
    finished = bench.python(descend + FILL, disk_mb=100)
    assert (finished.exit_code, finished.limit) == (None, "disk")
    began = time.monotonic()
    assert remove(bench.checkout)
    assert time.monotonic() - began < 120


def test_files_that_hold_nothing(bench):
    code = "import itertools, time\nfor n in itertools.count(): open(f'{n:x}', 'w').close()"
    finished = bench.python(code, disk_mb=60)
    assert (finished.exit_code, finished.limit) == (None, "files")


def test_names_of_one_file(bench):
    code = (
        "import os, time\nopen('first', 'w').close()\nfor n in range(9999): os.link('first', f'{n:x}')\ntime.sleep(60)"
    )
    finished = bench.python(code, disk_mb=60)
    assert (finished.exit_code, finished.limit) == (None, "files")


def test_files_in_shared_memory(isolating):
    code = "import time\nfor n in range(20_000): open(f'/dev/shm/{n:x}', 'w').close()\ntime.sleep(60)"
    finished = isolating.python(code, disk_mb=60)
    assert (finished.exit_code, finished.limit) == (None, "files")


def test_as_many_files_as_allowed(bench):
    finished = bench.python(
        "import time\nfor n in range(3800): open(f'{n:x}', 'w').close()\ntime.sleep(1.5); raise SystemExit(3)",
        disk_mb=60,
    )
    assert (finished.exit_code, finished.limit) == (3, "")


def test_folders_that_move_and_links_that_take_their_place_are_no_way_out(bench):
    """The host's root, behind a link, holds more than the limit."""
    finished = bench.python(
        """
        import os, time
        for n in range(300):
            os.makedirs(f"a/{n}/b/c/d")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for n in range(300):
                os.rename(f"a/{n}", f"moved{n}")
                os.symlink("/", f"a/{n}")
                os.unlink(f"a/{n}")
                os.rename(f"moved{n}", f"a/{n}")
        """,
        disk_mb=60,
    )
    assert (finished.exit_code, finished.limit) in ((0, ""), (None, "disk")), "counted, or it moved all the time"


def test_disk_behind_a_removed_name(bench):
    finished = bench.python(
        """
        import os, tempfile, time
        kept = []
        while True:
            kept.append(tempfile.TemporaryFile())
            kept[-1].write(b"x" * (4 << 20))
            time.sleep(0.01)
        """,
        disk_mb=60,
    )
    assert finished.limit == "disk"


def test_memory_behind_a_descriptor(bench):
    finished = bench.python(
        """
        import os, time
        kept = []
        while True:
            kept.append(os.memfd_create("x"))
            os.write(kept[-1], b"x" * (4 << 20))
            time.sleep(0.01)
        """,
        disk_mb=60,
    )
    assert finished.limit == "disk"


def test_what_was_there_before_is_not_added(bench):
    (bench.checkout / "before").write_bytes(b"x" * (30 * MIB))
    finished = bench.python("import time; time.sleep(1.5); raise SystemExit(3)", disk_mb=20)
    assert (finished.exit_code, finished.limit) == (3, "")


def test_a_sparse_file_takes_no_room(bench):
    finished = bench.python(
        "f = open('s', 'wb'); f.seek(200 << 20); f.write(b'x'); f.close(); raise SystemExit(1)", disk_mb=60
    )
    assert (finished.exit_code, finished.limit) == (1, "")


def test_output_beyond_the_cap_is_dropped_and_the_job_goes_on(bench):
    finished = bench.python(
        f"""
        import sys
        line = b"x" * 99 + b"\\n"
        for _ in range(1024):
            sys.stdout.buffer.write(line * 10_486)
        open("{bench.out()}/done", "w").write("yes")
        """,
        log_mb=2,
        wall_s=120,
    )
    assert (finished.exit_code, finished.limit, finished.log_truncated) == (0, "", True)
    assert (bench.outbox / "done").read_text() == "yes"
    assert 2 * MIB < bench.log.stat().st_size < 2 * MIB + 200
    assert bench.said().endswith("bytes dropped]\n")


def test_output_below_the_cap_is_whole(bench):
    finished = bench.python("import sys; sys.stdout.write('x' * (1 << 20))", log_mb=1)
    assert not finished.log_truncated
    assert bench.log.stat().st_size == MIB


def test_a_printer_that_never_stops_is_ended_in_time(bench):
    finished = bench.python("while True: print('x' * 10_000)", wall_s=1.0, log_mb=1)
    assert finished.timed_out
    assert finished.log_truncated
