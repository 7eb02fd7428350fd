"""The recorded GitHub of `swt demo`: current, and equal to the local GitHub where the demo asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.demo import MONTHS, RECORDING
from tasks.adapters.github.queries import document
from tasks.demo.recorded_github import RecordedGitHub, read_recording
from tasks.domain.errors import BadInput
from tests.fakes.demo_recording import recording

ASKED = {"owner": "rolling-swt-bench", "name": "larder", "field": "UPDATED_AT", "direction": "DESC"}


def test_the_recording_is_what_the_local_github_returns(tmp_path: Path) -> None:
    made = "".join(f"{line}\n" for line in recording(tmp_path))
    assert RECORDING.read_text("utf-8") == made, "run: python -m tests.fakes.demo_recording"


@pytest.mark.parametrize(("month", "pulls", "issues"), [(MONTHS[0][0], 7, 7), (MONTHS[1][0], 20, 17)])
def test_each_month_has_its_pull_requests_and_issues(month: str, pulls: int, issues: int) -> None:
    github = RecordedGitHub(read_recording(RECORDING), month=month)
    repository = github.answer({"query": document("repository"), "variables": ASKED})["data"]["repository"]
    listed = github.answer({"query": document("pull_requests"), "variables": ASKED})["data"]["repository"]
    assert repository["pullRequests"]["totalCount"] == listed["pullRequests"]["totalCount"] == pulls
    assert repository["pullRequests"]["nodes"][0]["updatedAt"] == listed["pullRequests"]["nodes"][0]["updatedAt"]
    listed = github.answer({"query": document("issues"), "variables": ASKED})["data"]["repository"]
    assert repository["issues"]["totalCount"] == listed["issues"]["totalCount"] == issues


def test_issues_are_those_since_a_date() -> None:
    github = RecordedGitHub(read_recording(RECORDING), month=MONTHS[0][0])
    asked = {"query": document("issues"), "variables": ASKED | {"since": "2025-07-17T09:00:00+00:00"}}
    assert github.answer(asked)["data"]["repository"]["issues"]["totalCount"] == 1


def test_other_queries_are_refused() -> None:
    github = RecordedGitHub(read_recording(RECORDING), month=MONTHS[0][0])
    (error,) = github.answer({"query": document("issue_edits"), "variables": ASKED})["errors"]
    assert error["message"].endswith("not IssueEdits")


def test_a_broken_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "github.jsonl").write_text('{"months": []}\n')
    with pytest.raises(BadInput, match=r"github\.jsonl"):
        read_recording(tmp_path / "github.jsonl")
