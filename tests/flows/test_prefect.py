"""A real Prefect server and a real worker run deployments of `prefect.yaml`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.prefect_server import prefect_server
from flows.settings import Settings
from tasks.adapters.store.database import query


@pytest.fixture
def environ(settings: Settings) -> dict[str, str]:
    """The environment of server, worker and client: the test's warehouse."""
    return dict(os.environ) | {
        "SWT_STORE": settings.store,
        "SWT_CACHE": str(settings.cache),
        "SWT_DATABASE": str(settings.database),
        "SWT_SANDBOX": str(settings.sandbox),
        "SWT_TRUSTED": "1",
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_runs_the_deployments(environ: dict[str, str], settings: Settings, tmp_path: Path) -> None:
    with prefect_server(tmp_path, environ) as prefect, prefect.worker("worker"):
        judged = prefect.call(
            *("deployment", "run", "evaluate/predictions", "--watch"),
            *("--param", "snapshot=demo", "--param", 'candidates=["golden", "nop"]'),
            *("--param", 'instances=["rolling-swt-bench__larder-3", "rolling-swt-bench__larder-5"]'),
        )
        held = prefect.call(
            *("deployment", "run", "strength/wrong-fixes", "--watch"),
            *("--param", 'instances=["rolling-swt-bench__larder-3"]'),
        )
        written = prefect.call("deployment", "run", "report/latest", "--watch")
        linked = prefect.call("artifact", "inspect", "report-link")
    assert "completed" in judged.lower()
    assert "completed" in held.lower()
    assert "completed" in written.lower()
    index = settings.database.parent / "report" / "demo" / "index.html"
    assert "golden" in index.read_text()
    assert index.as_uri() in "".join(linked.split())
    assert query(settings.database, "SELECT method, rejected FROM strength").to_pylist() == [
        {"method": "golden", "rejected": 1}
    ]
    found = query(settings.database, "SELECT method, count(*) FILTER (solved) AS solved FROM paper GROUP BY method")
    assert {row["method"]: row["solved"] for row in found.to_pylist()} == {"golden": 2, "nop": 0}
