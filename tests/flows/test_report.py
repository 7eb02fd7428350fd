"""The story of the report, over what a store holds."""

from __future__ import annotations

import pytest

from flows.interface.pipelines import run_flow
from flows.interface.settings import Settings
from flows.interface.snapshot_requests import ReportRequest
from flows.report import report_folder
from tasks.domain.errors import NotFound


@pytest.mark.slow
def test_the_newest_snapshot_has_its_report_beside_the_database(settings: Settings) -> None:
    summary = run_flow(ReportRequest(), settings)
    index = report_folder(settings, "demo") / "index.html"
    assert (summary.exit_code, summary.link) == (0, index.as_uri())
    assert "10 instances" in index.read_text()


def test_a_snapshot_that_is_not_there_is_said(settings: Settings) -> None:
    with pytest.raises(NotFound):
        run_flow(ReportRequest(snapshot="lost"), settings)
