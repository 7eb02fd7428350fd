"""What `swt doctor` says about sandboxes: what each isolates and does not, why one is missing, what `auto` takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flows.interface.commands import machine
from flows.interface.settings import Settings
from tasks.adapters.sandbox import select as picking
from tasks.adapters.sandbox.select import automatic, available
from tasks.adapters.uv.plan import Interpreter
from tasks.domain.outcome import SandboxKind


@pytest.fixture
def said(tmp_path, monkeypatch):
    """The report on a machine where only these sandboxes work."""

    def say(*working: SandboxKind) -> dict[str, str]:
        entries = tuple(
            replace(entry, why_not=lambda kind=entry.kind: "" if kind in working else "it is not installed")
            for entry in picking.ENTRIES
        )
        monkeypatch.setattr(picking, "ENTRIES", entries)
        settings = Settings(store=str(tmp_path / "store"), cache=tmp_path / "cache", database=tmp_path / "db")
        return {line[:22].strip(): line[23:] for line in machine.report(settings).splitlines()}

    return say


def test_each_sandbox_says_what_it_does_or_why_it_is_missing(said):
    lines = said(SandboxKind.BUBBLEWRAP, SandboxKind.PROCESS)
    assert lines["sandbox bubblewrap"].startswith("isolates network, files")
    assert lines["sandbox docker"] == "no: it is not installed"
    assert lines["sandbox process"].startswith("isolates nothing")


@pytest.mark.parametrize(
    ("working", "untrusted", "trusted"),
    [
        (tuple(SandboxKind), "bubblewrap", "bubblewrap"),
        ((SandboxKind.DOCKER, SandboxKind.PROCESS), "docker", "docker"),
        ((SandboxKind.PROCESS,), "no: nothing here isolates, so such code does not run", "process"),
    ],
)
def test_auto_never_falls_to_a_process_for_code_that_is_not_trusted(said, working, untrusted, trusted):
    lines = said(*working)
    assert (lines["auto, other code"], lines["auto, trusted code"]) == (untrusted, trusted)


def test_each_compiled_project_says_what_its_build_lacks_here(said, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = said(SandboxKind.PROCESS)
    assert lines["builds matplotlib/matplotlib"[:22]].endswith("no: gcc, g++, make, qhull_r")
    assert lines["compiler cache"].startswith("no: ")


@pytest.mark.parametrize(
    ("versions", "grammar"),
    [(("3.99.1", "3.98.0", "3.6.15"), "no: what only 3.99, 3.98 can parse"), (("3.6.15",), "yes"), ((), "yes")],
)
def test_code_that_only_a_newer_python_parses_is_not_read(said, monkeypatch, versions, grammar):
    found = tuple(Interpreter(path=Path("python"), version=one, base_prefix=Path("/")) for one in versions)
    monkeypatch.setattr(machine, "machine_interpreters", lambda: found)
    assert said(SandboxKind.PROCESS)["newest grammar"].startswith(grammar)


def test_programs_that_tests_call_are_named_with_their_projects(said, monkeypatch, tmp_path):
    less = tmp_path / "less"
    less.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    line = said(SandboxKind.PROCESS)["programs of tests"]
    assert line.startswith("no: gs (matplotlib), dot (networkx), ")
    assert "less (" not in line


def test_what_is_said_of_auto_is_what_it_does(tmp_path):
    probes = available()
    for trusted in (True, False):
        if kind := automatic(probes, trusted=trusted):
            assert picking.pick(None, trusted=trusted, base=tmp_path).kind is kind
