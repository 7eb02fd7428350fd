"""A real Prefect server and a real worker run the deployment of `prefect.yaml`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.settings import PROJECT, Settings
from tasks.adapters.store.database import query

PREFECT = Path(sys.executable).with_name("prefect")
PATIENCE_S = 120.0


@pytest.fixture
def environ(settings: Settings, tmp_path: Path) -> dict[str, str]:
    """The environment of server, worker and client: a Prefect home of their own, and the test's warehouse."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return dict(os.environ) | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLI_PROMPT": "false",
        "SWT_STORE": settings.store,
        "SWT_CACHE": str(settings.cache),
        "SWT_DATABASE": str(settings.database),
        "SWT_SANDBOX": str(settings.sandbox),
    }


@contextmanager
def running(environ: dict[str, str], log: Path, *argv: str) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen([str(PREFECT), *argv], env=environ, cwd=PROJECT, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def prefect(environ: dict[str, str], *argv: str) -> str:
    done = subprocess.run(
        [str(PREFECT), *argv], env=environ, cwd=PROJECT, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the server did not come up:\n{log.read_text()}")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_runs_the_deployment(environ: dict[str, str], settings: Settings, tmp_path: Path) -> None:
    server_log, worker_log = tmp_path / "server.log", tmp_path / "worker.log"
    port = environ["PREFECT_API_URL"].rsplit(":", 1)[1].split("/")[0]
    with running(environ, server_log, "server", "start", "--host", "127.0.0.1", "--port", port):
        wait_for(environ["PREFECT_API_URL"], server_log)
        prefect(environ, "work-pool", "create", "swt", "--type", "process")
        prefect(environ, "--no-prompt", "deploy", "--all")
        with running(environ, worker_log, "worker", "start", "--pool", "swt", "--type", "process"):
            instances = '["rolling-swt-bench__larder-3", "rolling-swt-bench__larder-5"]'
            said = prefect(
                environ,
                *("deployment", "run", "evaluate/predictions", "--watch"),
                *("--param", "snapshot=demo", "--param", 'candidates=["golden", "nop"]'),
                *("--param", f"instances={instances}", "--param", "trusted=true"),
            )
    assert "Completed" in said or "COMPLETED" in said
    found = query(settings.database, "SELECT method, count(*) FILTER (solved) AS solved FROM paper GROUP BY method")
    assert {row["method"]: row["solved"] for row in found.to_pylist()} == {"golden": 2, "nop": 0}
