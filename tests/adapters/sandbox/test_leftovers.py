"""Nothing survives: not a daemon its job, not a job its flow."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.sandbox.label import MARKER, Label
from tasks.adapters.sandbox.supervisor import tree

pytestmark = pytest.mark.slow  # waits for limits

ROOT = Path(__file__).resolve().parents[3]

DAEMON = """
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3):
                os.close(fd)
            time.sleep(900)
        os._exit(0)
    os.wait()
    time.sleep(0.1)
    print("done")
"""

FLOW = """
import sys
from pathlib import Path
from tasks.adapters.sandbox.select import pick
from tasks.adapters.sandbox.base import Job
from tasks.domain.outcome import SandboxKind
from dataclasses import replace
root = Path(sys.argv[2])
sandbox = pick(SandboxKind(sys.argv[1]), trusted=True, base=root / "base")
job = Job(argv=("sh", "-c", "setsid sleep " + sys.argv[3] + " & sleep " + sys.argv[3]), checkout=root / "checkout",
          outbox=root / "outbox", log=root / "log")
sandbox.run(job)
"""


def test_a_daemon_ends_with_its_job(bench, alive):
    own = f"daemon-of-{os.getpid()}"
    finished = bench.python(DAEMON, own)
    assert finished.exit_code == 0
    assert bench.said() == "done\n"
    assert finished.wall_s < 900
    assert not alive(str(bench.checkout))
    assert not alive(own)


def test_a_daemon_that_keeps_the_log_open_holds_nothing_up(bench):
    finished = bench.python("import os, time\nif os.fork() == 0: os.setsid(); time.sleep(900)\nprint('end')")
    assert finished.exit_code == 0
    assert finished.wall_s < 900
    assert bench.said() == "end\n"


def test_a_job_that_kills_its_parent(bench, alive):
    finished = bench.python("import os, time; os.kill(os.getppid(), 9); time.sleep(30)", wall_s=2.0)
    assert finished.exit_code in (-9, 1, None), "killed by its parent's end, refused, or ended in time"
    assert not alive(str(bench.checkout))


def test_a_job_that_kills_its_process_group(bench):
    assert bench.python("import os; os.killpg(0, 9)").exit_code == -9


def test_a_killed_flow_leaves_no_process_and_sweep_the_rest(bench, alive, until):
    seconds = f"8{os.getpid()}.{len(bench.sandbox.kind)}"
    for _ in range(2):
        _run_and_kill_flow(bench, seconds, alive, until, also_supervisor=False)
        until(lambda: not alive(seconds))
    left = list((bench.root / "base").iterdir())
    assert len(left) == 2
    sandbox = replace(bench.sandbox, base=bench.root / "base")
    assert sandbox.sweep() >= 2, "two folders; a container may still be on its way out"
    until(lambda: sandbox.sweep() == 0)
    assert not list((bench.root / "base").iterdir())


def test_a_killed_flow_and_supervisor_leave_what_sweep_finds(bench, alive, until):
    seconds = f"9{os.getpid()}.{len(bench.sandbox.kind)}"
    _run_and_kill_flow(bench, seconds, alive, until, also_supervisor=True)
    bench.sandbox.sweep()
    until(lambda: not alive(seconds))


def _run_and_kill_flow(bench, seconds, alive, until, *, also_supervisor):
    (bench.root / "base").mkdir(exist_ok=True)
    argv = [sys.executable, "-c", FLOW, bench.sandbox.kind, str(bench.root), seconds]
    flow = subprocess.Popen(argv, cwd=ROOT)
    until(lambda: len(alive("sleep\0" + seconds)) >= 2)
    supervisors = _children(flow.pid)
    flow.send_signal(signal.SIGKILL)
    if also_supervisor:
        for pid in supervisors:
            os.kill(pid, signal.SIGKILL)
    flow.wait()
    until(lambda: not any(tree.member(pid) for pid in supervisors))


def _children(pid):
    return [process.pid for process in tree.everyone() if process.parent == pid]


def test_sweep_leaves_the_living_alone(bench):
    mine = Path(tempfile.gettempdir(), str(Label.new()))
    mine.mkdir()
    runner = subprocess.Popen(["sleep", "60"], env={MARKER: mine.name})
    try:
        bench.sandbox.sweep()
        assert mine.is_dir()
        assert runner.poll() is None
    finally:
        runner.kill()
        runner.wait()
        mine.rmdir()


ELSEWHERE = """
import subprocess, sys
from pathlib import Path
from tasks.adapters.sandbox.label import MARKER, Label
label = str(Label.new())
Path(sys.argv[1], label).mkdir()
runner = subprocess.Popen(["sleep", sys.argv[2]], env={MARKER: label})
print(label, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_sweep_leaves_the_living_of_another_container_alone(bench, alive):
    """They share a folder, a machine's root sees its processes, and its owner has an id that nobody has here."""
    base, seconds = bench.root / "base", f"8{os.getpid()}.{len(bench.sandbox.kind)}"
    base.mkdir(exist_ok=True)
    sandbox = replace(bench.sandbox, base=base)
    inside = [
        "bwrap",
        "--unshare-user",
        "--unshare-pid",
        "--die-with-parent",
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
    ]
    argv = [*inside, sys.executable, "-c", ELSEWHERE, str(base), seconds]
    flow = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        label = flow.stdout.readline().strip()
        assert label.startswith("swt-run-")
        sandbox.sweep()
        assert alive("sleep\0" + seconds)
        assert (base / label).is_dir()
        os.utime(base / label, (0, 0))
        sandbox.sweep()
        assert not (base / label).exists(), "whose owner cannot be looked for goes by age"
    finally:
        flow.communicate("")


def test_labels_are_read_back():
    label = Label.new()
    assert Label.parse(str(label)) == label
    assert not label.orphaned
    assert replace(label, started=label.started + 1).orphaned
    assert not replace(label, started=label.started + 1, namespace=1).orphaned
    assert Label.parse("swt-run-x") is None
