"""Many runs leave nothing: no process, mount, image, container, descriptor or file. `SWT_GROWTH_RUNS` says how many."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from benchmarks.sandbox_growth import counted, grown, run_many, settled

RUNS = int(os.environ.get("SWT_GROWTH_RUNS", "12"))


@pytest.mark.drill
def test_runs_leave_nothing(bench, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    sandbox = replace(bench.sandbox, base=base)
    run_many(sandbox, base, 2, 2)
    before = counted(base)
    run_many(sandbox, base, RUNS, 4)
    assert grown(before, settled(base, before)) == {}


def test_what_grows_is_named(tmp_path):
    """Only the folder is this test's own: a process or a descriptor of its neighbours may come meanwhile."""
    before = counted(tmp_path)
    (tmp_path / "left").touch()
    assert grown(before, counted(tmp_path))["temporary"] == 1
    more = replace(before, processes=before.processes + 2, mounts=before.mounts - 1, engine_mb=10**6)
    assert grown(before, more) == {"processes": 2}
