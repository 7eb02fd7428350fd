"""The same sandbox where the flow is not root: a user namespace instead of a change of user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tasks.adapters.sandbox.bubblewrap import ORDINARY_UID

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 4242
PYTHON = "/usr/bin/python3"
"""An interpreter that everybody may read."""

FLOW = """
import sys
from pathlib import Path
from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.domain.run import Limits
root = Path(sys.argv[1])
job = Job(argv=("sh", "-c", sys.argv[2]), checkout=root / "checkout", outbox=root / "outbox", log=root / "log",
          base=root / "tree" if (root / "tree").exists() else None,
          limits=Limits(processes=30, disk_mb=int(sys.argv[3])))
sandbox = Bubblewrap(base=root)
print(f"overlays={sandbox.overlays(root)}", sandbox.run(job))
"""


@pytest.fixture
def run(tmp_path):
    """Run a shell script in the sandbox as an ordinary user; what it printed."""
    if os.geteuid() != 0:
        pytest.skip("the whole suite runs as an ordinary user already")
    if shutil.which("bwrap") is None or not _readable_python():
        pytest.skip(f"needs bwrap, and Python 3.11 or newer at {PYTHON} for users who cannot read ours")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "outbox").mkdir()
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    for path in tmp_path.parents:
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(path.stat().st_mode | 0o011)

    def go(script: str, disk_mb: int = 2048) -> str:
        argv = [PYTHON, "-c", FLOW, str(tmp_path), script, str(disk_mb)]
        done = subprocess.run(argv, cwd=ROOT, user=NOBODY, group=NOBODY, extra_groups=[], env={"PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return (tmp_path / "log").read_text() + done.stdout

    return go


def _readable_python() -> bool:
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([PYTHON, "-c", code], check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.bubblewrap
def test_it_is_an_ordinary_user_inside(run):
    assert run("id -u; touch here ~/there /tmp/elsewhere && echo written").startswith(f"{ORDINARY_UID}\nwritten\n")


@pytest.mark.bubblewrap
def test_nothing_else_is_there(run):
    said = run("touch /x /etc/x /usr/x /dev/x 2>/dev/null; ls /home /root /work; ls /proc | grep -c '^[0-9]'")
    assert said.startswith("/home:\nswt\n") or "swt" in said
    assert "cannot access '/root'" in said


@pytest.mark.bubblewrap
def test_it_makes_no_user_namespace_in_its_own(run):
    assert "unshare failed" in run("unshare --user --map-root-user id -u")


@pytest.mark.bubblewrap
def test_a_fork_bomb_ends(run):
    assert "limit='processes'" in run("for i in $(seq 200); do sleep 20 & done; wait; sleep 20")


@pytest.mark.bubblewrap
def test_a_checkout_is_laid_over_a_base(run, tmp_path):
    (tmp_path / "tree" / "pkg").mkdir(parents=True)
    (tmp_path / "tree" / "pkg" / "mod.py").write_text("one\n")
    for path in (tmp_path / "tree", *(tmp_path / "tree").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    said = run(
        "id -u; stat -c %u pkg/mod.py; echo two >> pkg/mod.py; mv pkg moved; cat moved/mod.py; unshare -Ur id -u"
    )
    if "overlays=False" in said:
        pytest.skip("this kernel lets an ordinary user mount no overlay")
    assert said.startswith(f"{ORDINARY_UID}\n{ORDINARY_UID}\none\ntwo\n")
    assert "unshare failed" in said
    assert (tmp_path / "tree" / "pkg" / "mod.py").read_text() == "one\n"
    assert {path.name for path in tmp_path.iterdir()} == {"checkout", "outbox", "log", "tree"}


@pytest.mark.bubblewrap
def test_a_fork_bomb_over_a_base_ends(run, tmp_path):
    (tmp_path / "tree").mkdir()
    os.chown(tmp_path / "tree", NOBODY, NOBODY)
    assert "limit='processes'" in run("for i in $(seq 200); do sleep 20 & done; wait; sleep 20")


LOCKED = "mkdir locked; (cd locked; head -c {size} /dev/zero > big; chmod {mode} .; sleep 3); echo end"


@pytest.mark.parametrize("mode", ["000", "300", "111"])
def test_disk_in_a_folder_that_cannot_be_read(run, mode):
    assert "limit='disk'" in run(LOCKED.format(size="100M", mode=mode), disk_mb=30)


def test_a_folder_that_cannot_be_read_is_no_reason_to_end_a_job(run):
    said = run(LOCKED.format(size="1M", mode="000"), disk_mb=30)
    assert said.startswith("end\n")
    assert "limit=''" in said


def test_files_in_shared_memory(run):
    assert "limit='files'" in run("cd /dev/shm; seq 9999 | xargs touch; sleep 60", disk_mb=30)
