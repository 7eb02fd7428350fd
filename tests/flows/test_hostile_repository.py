"""A repository whose `conftest.py` looks for secrets and ways out, judged in each sandbox."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_projects import GoldenProject, SwtMachine, swt_machine

from tasks.adapters.sandbox.select import ENTRIES

CANARIES = {
    "OPENAI_API_KEY": "canary-openai",
    "GITHUB_TOKEN": "canary-github",
    "SWT_LEASES_PASSWORD": "canary-password",
}
SPY = """
import os, socket

found = []
for name, attempt in {
    "list the home folder": lambda: os.listdir(HOME),
    "read a key": lambda: open(HOME + "/.ssh/id").read(),
    "read the store": lambda: os.listdir(STORE),
    "write outside": lambda: open(PLANTED, "w").write("planted"),
    "connect": lambda: socket.create_connection(("127.0.0.1", PORT), 2),
}.items():
    try:
        attempt()
    except OSError:
        continue
    found.append(name)
assert "canary" not in repr(dict(os.environ))
assert os.listdir(os.environ["HOME"]) == []
assert len(found) == OPEN, found
"""
"""An assertion that fails leaves no test to collect, so the golden tests would solve nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Something on this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SwtMachine:
    return swt_machine(tmp_path, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["process", "bubblewrap", "docker"])
def test_a_hostile_conftest_finds_no_secret_and_no_way_out(
    machine: SwtMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, port: int, sandbox: str
) -> None:
    entry = next(entry for entry in ENTRIES if str(entry.kind) == sandbox)
    if reason := entry.why_not():
        pytest.skip(f"{sandbox}: {reason}")
    home, planted = tmp_path / "home", tmp_path / "planted"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("canary-key")
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    places = {"HOME": str(home), "STORE": str(tmp_path / "store"), "PLANTED": str(planted), "PORT": port}
    places["OPEN"] = 0 if entry.isolating else 5
    spy = "".join(f"{name} = {value!r}\n" for name, value in places.items()) + SPY
    machine.take(
        GoldenProject(
            files={"conftest.py": spy, "widget.py": "def add(a, b):\n    return a - b\n"},
            fix={"widget.py": "def add(a, b):\n    return a + b\n"},
            tests={"test_widget.py": "from widget import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"},
        )
    )
    code, said = machine.evaluate("golden", "nop", sandbox=sandbox)
    assert code == 0, said
    assert machine.query("SELECT method, solved FROM verdict WHERE grader = 'paper' ORDER BY method") == [
        {"method": "golden", "solved": True},
        {"method": "nop", "solved": False},
    ]
    assert planted.exists() != entry.isolating
