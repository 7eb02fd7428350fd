"""Which sandbox a flow gets, and what is said where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.adapters.sandbox import select as picking
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.sandbox.process import Process
from tasks.adapters.sandbox.select import available, pick
from tasks.adapters.sandbox.supervise import from_shell
from tasks.domain.errors import UsageError
from tasks.domain.outcome import SandboxKind


def test_every_probe_gives_a_reason_or_works():
    probes = available()
    assert SandboxKind.PROCESS in {probe.kind for probe in probes if probe.usable}
    assert all(probe.usable == (probe.why_not == "") for probe in probes)
    assert all(probe.isolates for probe in probes)


def test_the_first_that_works_is_taken(tmp_path):
    usable = [probe.kind for probe in available() if probe.usable]
    assert pick(None, trusted=True, base=tmp_path).kind is usable[0]


def test_auto_isolates_what_is_not_trusted(tmp_path):
    if not any(probe.usable for probe in available() if probe.kind is not SandboxKind.PROCESS):
        pytest.skip("no sandbox of this machine isolates")
    assert pick(None, trusted=False, base=tmp_path).isolates


def test_code_that_is_not_trusted_never_runs_without_isolation(tmp_path):
    with pytest.raises(UsageError, match="isolates nothing") as caught:
        pick(SandboxKind.PROCESS, trusted=False, base=tmp_path)
    assert caught.value.hint


def test_no_sandbox_at_all(monkeypatch, tmp_path):
    monkeypatch.setattr(picking, "ENTRIES", tuple(entry for entry in picking.ENTRIES if not entry.isolating))
    assert pick(None, trusted=True, base=tmp_path).kind is SandboxKind.PROCESS
    with pytest.raises(UsageError, match="no sandbox"):
        pick(None, trusted=False, base=tmp_path)


def test_the_process_sandbox_says_so_aloud():
    assert not Process().isolates
    assert "isolates nothing" in Process().warning


def test_bubblewrap_says_why_not(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "not on PATH" in Bubblewrap().why_not()


@pytest.mark.parametrize("entry", ["{folder}", "tools"])
def test_the_bubblewrap_that_is_found_is_the_one_that_is_started(tmp_path: Path, monkeypatch, entry):
    """Inside there is another PATH and another current folder."""
    broken = tmp_path / "tools" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", entry.format(folder=broken.parent) + os.pathsep + os.environ["PATH"])
    assert "No permissions to create new namespace" in Bubblewrap().why_not()


@pytest.mark.parametrize(
    ("code", "read"), [(0, 0), (1, 1), (128, 128), (137, -9), (143, -15), (255, 255), (None, None)]
)
def test_shell_codes(code, read):
    assert from_shell(code) == read
