"""The scripts start, and the line counter that ours is measured against counts the right lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSIDE = ROOT / "benchmarks" / "inside"

WATCHED = """\
def used(flag):
    if flag:
        return 1
    return 2
"""


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *argv], cwd=cwd, capture_output=True, text=True, check=False)


def counted(folder: Path, *command: str) -> tuple[int, list[int]]:
    """Exit code of the command under the tracer, and the lines that ran of `watched.py`."""
    (folder / "watched.py").write_text(WATCHED)
    done = run(str(INSIDE / "line_tracer.py"), "out.json", "watched.py", "--", *command, cwd=folder)
    (lines,) = json.loads((folder / "out.json").read_text()).values()
    return done.returncode, lines


def test_lines_of_the_watched_file_are_counted(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys, watched\nwatched.used(True)\nsys.exit(len(sys.argv))\n")
    assert counted(tmp_path, "script.py", "argument") == (2, [1, 2, 3])


def test_a_module_is_run_as_python_m_would(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import watched\nassert __name__ == '__main__'\nwatched.used(False)\n")
    assert counted(tmp_path, "-m", "script") == (0, [1, 2, 4])


def test_an_abrupt_exit_keeps_what_was_counted(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os, watched\nos._exit(5)\n")
    assert counted(tmp_path, "script.py") == (5, [1])


def test_the_seconds_of_children_reach_the_file(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass\nraise SystemExit(3)"
    done = run(str(INSIDE / "spent.py"), "spent", sys.executable, "-c", busy, cwd=tmp_path)
    assert done.returncode == 3
    assert float((tmp_path / "spent").read_text()) >= 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    ["harness_plan", "coverage_overhead", "dry_run"],
)
def test_every_script_explains_itself(script: str) -> None:
    done = run("-m", f"benchmarks.{script}", "--help", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()
