"""Ctrl-C, in a process of its own: what is done is kept, and said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.interface.settings import PROJECT
from tasks.adapters.store.tables.store import Store
from tasks.domain.undone import INTERRUPTED, FlowRound, Undone

NAMES = tuple(f"owner__name-{number}" for number in range(3))
COMMAND = f"""
import sys, time
from pathlib import Path
from flows.interface.cli import app, main
from flows.engine.units import ThreadExecutor, start_flow
from flows.interface.pipelines import end
from tasks.adapters.store.tables.store import Store
from tasks.domain.undone import OfInstance

folder = Path.cwd()

def function(unit):
    if unit.subject == {NAMES[1]!r}:
        (folder / "under way").touch()
        while not (folder / "enough").exists():
            time.sleep(0.02)

def story(run):
    run.map_task("runs", function, [OfInstance(snapshot="s", instance_id=name) for name in {NAMES!r}])

@app.command()
def drill():
    start_flow("drill", "a drill", Store("store"), ThreadExecutor(1), story)

sys.argv = ["swt", "drill"]
main()
"""
"""A command with a round of three units, one after the other, of which the second takes until it is told."""


@pytest.fixture
def command(tmp_path: Path) -> subprocess.Popen[bytes]:
    """The command, with its second unit under way."""
    argv = [sys.executable, "-c", COMMAND]
    environ = dict(os.environ) | {"PYTHONPATH": str(PROJECT)}
    with (tmp_path / "log").open("wb") as log:
        # What a shell starts with `&` ignores SIGINT, and hands that on.
        started = subprocess.Popen(
            argv, cwd=tmp_path, env=environ, stderr=log, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
    wait_for((tmp_path / "under way").exists, started)
    return started


def wait_for(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """A process that ends instead, or the test's own limit, ends the wait."""
    while not there():
        assert process.poll() is None
        time.sleep(0.02)


def said(folder: Path, text: str) -> bool:
    return text in (folder / "log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_says_what_is_kept_and_ends_with_130(
    command: subprocess.Popen[bytes], tmp_path: Path, times: int
) -> None:
    command.send_signal(signal.SIGINT)
    wait_for(lambda: said(tmp_path, "runs: waiting for 1 under way; Ctrl-C again does not wait"), command)
    if times == 2:
        command.send_signal(signal.SIGINT)
    else:
        (tmp_path / "enough").touch()
    assert command.wait() == 130
    assert said(tmp_path, "runs: 1 of 3 were settled and are kept; the same again goes on there")
    assert not said(tmp_path, "Traceback")
    store = Store(str(tmp_path / "store"))
    assert {(row.subject, row.error, row.may_pass) for row in store.read(Undone)} == {
        (name, INTERRUPTED, True) for name in NAMES[1:]
    }
    (round_,) = store.read(FlowRound)
    assert round_.done == NAMES[:1]
    assert round_.finished_at
