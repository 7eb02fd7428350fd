"""What comes to nothing does so on every CPython that code under test may run on."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.evaluate.idle_work import BUILTINS, idle_work


@pytest.mark.parametrize("python", machine_interpreters(), ids=lambda found: found.minor)
def test_it_runs_without_a_word(python) -> None:
    draw = random.Random(0)
    lines = [line for _ in range(400) for line in idle_work(draw, ("get_order", "Path"), builtins=BUILTINS)]
    done = subprocess.run(
        [str(python.path), "-I", "-W", "error", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_profiler_sees_another_call_in_each() -> None:
    for seed in range(50):
        seen: list[str] = []
        lines = compile("\n".join(idle_work(random.Random(seed), (), builtins=set())), "", "exec")
        before = sys.getprofile()
        sys.setprofile(lambda _, event, argument, seen=seen: seen.append(event) if event == "c_call" else None)
        try:
            exec(lines, {})
        finally:
            sys.setprofile(before)
        assert len(seen) > 2, "`exec` and `setprofile` are two"
