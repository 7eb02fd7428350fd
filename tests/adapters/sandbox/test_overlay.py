"""A checkout laid over a base: it looks like a copy, and nothing that a job does reaches the base or the next job."""

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

from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.sandbox.supervisor import tree

ROOT = Path(__file__).resolve().parents[3]
MEMORY = Path("/dev/shm")
MOUNTINFO = Path("/proc/self/mountinfo")

LOOK = """
    import hashlib, json, os
    seen = {}
    for folder, names, files in os.walk("."):
        for name in [".", *files, *names]:
            path = os.path.normpath(os.path.join(folder, name))
            facts = os.lstat(path)
            if path == "job.py":
                continue
            text = open(path).read() if os.path.isfile(path) and not os.path.islink(path) else ""
            seen[path] = [oct(facts.st_mode), facts.st_mtime_ns, facts.st_uid == os.getuid(), text,
                          facts.st_nlink if os.path.isfile(path) else 0, os.access(path, os.W_OK)]
    print(json.dumps(seen, sort_keys=True))
"""

RAVAGE = """
    import os, shutil, signal, sys
    for folder, names, files in os.walk("."):
        for name in files:
            path = os.path.join(folder, name)
            try:
                os.link(path, path + ".linked")
                with open(path + ".linked", "a") as file:
                    file.write("spoiled")
                with open(path, "r+") as file:
                    file.write("spoiled")
                os.chmod(path, 0o600)
                os.utime(path, (1, 1))
                os.setxattr(path, "user.spoiled", b"1")
            except OSError as problem:
                print(path, problem)
    os.rename("pkg", "moved")
    os.mkdir("pkg")
    open("pkg/left", "w").close()
    os.unlink("run.sh")
    shutil.rmtree("docs")
    os.symlink("/etc", "docs")
    os.utime(".", (2, 2))
    os.chmod(".", 0o700)
    print("done", flush=True)
    if sys.argv[1:]:
        os.kill(os.getpid(), int(sys.argv[1]))
"""

FLOW = """
import sys
from pathlib import Path
from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
root = Path(sys.argv[1])
job = Job(argv=("sh", "-c", "rm -r pkg; echo x >> run.sh; setsid sleep " + sys.argv[2] + " & sleep " + sys.argv[2]),
          checkout=root / "checkout", base=root / "tree-of-commit", outbox=root / "outbox", log=root / "log")
Bubblewrap(base=root / "base").run(job)
"""


@pytest.fixture
def memory(tmp_path):
    """A folder on another file system than the test's own, where there is one."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(params=["one file system", "two file systems"])
def over(bench, memory, request):
    """A bench whose sandbox lays checkouts over bases, and a base."""
    base = bench.root / "tree-of-commit"
    if request.param == "two file systems":
        if memory.stat().st_dev == bench.root.stat().st_dev:
            pytest.skip("there is one file system only")
        base.symlink_to(memory / "tree")
        (memory / "tree").mkdir()
    if not bench.sandbox.overlays(base.resolve().parent):
        pytest.skip(f"the sandbox {bench.sandbox.kind} lays no checkout over a base here")
    files = {"pkg/mod.py": "one\n", "pkg/deep/er.py": "two\n", "run.sh": "#!/bin/sh\n", "docs/a.txt": "a\n"}
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    (base / "run.sh").chmod(0o755)
    (base / "link").symlink_to("pkg")
    for path in (base.resolve(), *base.rglob("*")):
        os.utime(path, (FIXED_MTIME, FIXED_MTIME), follow_symlinks=False)
    return bench


def test_a_job_sees_what_it_would_see_in_a_copy(over):
    shutil.copytree(_tree(over), over.root / "copy" / "checkout", symlinks=True)
    shutil.copystat(_tree(over), over.root / "copy" / "checkout")
    alone = _look(replace(over.job(), checkout=over.root / "copy" / "checkout"), over)
    assert _look(_fresh(over), over) == alone
    assert "pkg/deep/er.py" in alone


@pytest.mark.parametrize("end", ["", str(signal.SIGKILL.value)], ids=["ends", "killed"])
def test_a_job_that_writes_everywhere_changes_nothing_for_the_next(over, end):
    base = _tree(over)
    before, facts = _look(_fresh(over), over), _facts(base)
    finished = _run(_fresh(over), over, RAVAGE, end)
    assert over.said() == "done\n"
    assert finished.exit_code == (-9 if end else 0)
    assert _facts(base) == facts
    assert _look(_fresh(over), over) == before


def test_a_folder_of_the_base_can_be_moved(over):
    if os.geteuid() != 0:
        pytest.skip("without root the kernel makes overlays that refuse it, as two file systems would")
    finished = _run(_fresh(over), over, "import os; os.rename('pkg', 'moved'); print(os.listdir('moved'))")
    assert finished.exit_code == 0, over.said()


def test_the_base_is_not_seen_anywhere_else(over):
    _run(_fresh(over), over, "print(open('/proc/self/mountinfo').read())")
    assert "tree-of-commit" not in over.said()


def test_disk_counts_what_is_written_and_not_the_base(over):
    (_tree(over) / "big").write_bytes(b"x" * (8 << 20))
    job = replace(_fresh(over), limits=replace(over.job().limits, disk_mb=4))
    assert _run(job, over, "import time; open('small', 'w').write('x'); time.sleep(0.3)").limit == ""
    job = replace(_fresh(over), limits=replace(over.job().limits, disk_mb=4))
    assert _run(job, over, "import time; open('big', 'a').write('x'); time.sleep(5)").limit == "disk"


def test_a_killed_flow_leaves_no_mount(over, alive, until):
    seconds = f"6{os.getpid()}.5"
    (over.root / "base").mkdir()
    _fresh(over)
    flow = subprocess.Popen([sys.executable, "-c", FLOW, str(over.root), seconds], cwd=ROOT)
    until(lambda: len(alive("sleep\0" + seconds)) >= 2)
    seen, here = _mounts_below(over.root), str(over.root) in MOUNTINFO.read_text()
    flow.send_signal(signal.SIGKILL)
    flow.wait()
    assert seen, "it is there while the job runs"
    assert not here, "in the job's own namespace alone"
    until(lambda: not alive(seconds))
    assert not _mounts_below(over.root)
    sandbox = replace(over.sandbox, base=over.root / "base")
    until(lambda: sandbox.sweep() == 0)
    assert not list((over.root / "base").iterdir())
    assert (_tree(over) / "pkg" / "mod.py").read_text() == "one\n"


def test_a_base_that_is_gone_is_our_failure(over):
    shutil.rmtree(_tree(over))
    with pytest.raises(Exception, match="could not start the job"):
        _look(_fresh(over), over)


def _mounts_below(folder):
    """Overlays mounted below a folder, in the namespace of any process."""
    found = set()
    for process in tree.everyone():
        try:
            lines = Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()
            found.update(line for line in lines if f"{folder}/" in line and " - overlay " in line)
        except OSError:
            continue
    return found


def _tree(bench):
    return (bench.root / "tree-of-commit").resolve()


def _fresh(bench):
    """A job with an empty checkout over the base."""
    shutil.rmtree(bench.checkout, ignore_errors=True)
    bench.checkout.mkdir()
    os.utime(bench.checkout, (FIXED_MTIME, FIXED_MTIME))
    return replace(bench.job(), base=_tree(bench))


def _look(job, bench):
    finished = _run(job, bench, LOOK)
    assert finished.exit_code == 0, bench.said()
    return bench.said()


def _run(job, bench, code, *words):
    """A program that does not lie in the checkout, so that this stays as it is."""
    own = bench.program(code, *filter(None, words))
    return bench.sandbox.run(replace(own, checkout=job.checkout, base=job.base, limits=job.limits))


def _facts(folder):
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.lstat().st_size,
                                        path.lstat().st_nlink, path.lstat().st_uid)
        for path in (folder, *folder.rglob("*"))
    }  # fmt: skip
