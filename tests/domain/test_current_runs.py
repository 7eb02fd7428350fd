"""Which runs of an instance count when runners of several versions made them."""

from __future__ import annotations

from datetime import timedelta

from domain_rows import SOME_DAY, run_row

from tasks.domain.names import RunKey
from tasks.domain.outcome import RunStatus
from tasks.domain.run import Run, current


def made(key: str, version: str, minute: int, status: RunStatus = RunStatus.COMPLETED) -> Run:
    finished = SOME_DAY + timedelta(minutes=minute)
    return run_row(run_key=RunKey(key), runner_version=version, finished_at=finished, status=status)


def keys(*runs: Run) -> list[str]:
    return [run.run_key for run in current(runs)]


def test_one_runner_is_current_whatever_it_is() -> None:
    assert keys() == []
    assert keys(made("a", "", 0), made("b", "", 1)) == ["a", "b"]


def test_a_newer_runner_supersedes_all_that_an_older_one_said() -> None:
    assert keys(made("a", "", 0), made("b", "new", 5), made("c", "", 1), made("d", "new", 2)) == ["b", "d"]


def test_failures_of_ours_supersede_nothing() -> None:
    assert keys(made("a", "old", 0), made("b", "new", 5, RunStatus.INFRASTRUCTURE)) == ["a"]
