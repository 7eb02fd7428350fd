"""The agent on real base commits, each with replies that take another way; the ways are read from the rows.

Needs ../shared/data and mirrors in the cache (`swt repo add`), or clones named by SWT_TEST_MIRRORS.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from small_repository import EXTRACT, EXTRACTED, SEARCH, call, ranked, view

from tasks.adapters.llm.errors import ContextTooLong, ProviderFailed
from tasks.adapters.store.tables.store import Store
from tasks.changed_lines.task import changed_lines
from tasks.domain.localization import IssueReport, Localization, LocalizationRun, LocalizationStep
from tasks.domain.names import InstanceKey, RepoName, Sha
from tasks.domain.places import Places
from tasks.localize.settings import AgentSettings
from tasks.localize.task import localize_with_agent
from tests.fakes.scripted_model import Scripted, Step

PROJECT = Path(__file__).parents[2]
ROWS = PROJECT.parent / "shared" / "data" / "swe-bench-lite.dev.jsonl"
MIRRORS = Path(os.environ.get("SWT_TEST_MIRRORS", PROJECT / "data" / "cache" / "mirrors"))
SMALL = ("pallets/flask", "psf/requests", "pylint-dev/pylint", "pytest-dev/pytest", "pydata/xarray")
pytestmark = [pytest.mark.real, pytest.mark.skipif(not ROWS.is_file(), reason="../shared/data is not there")]

START = (EXTRACT, EXTRACTED, SEARCH)
GOLDEN = "<golden>"
"""Stands for the file that the fix changes: a script that knows it shows that the rows can say so."""
SURE = ranked(GOLDEN, scores=[10])
LATE = ProviderFailed("no answer", kind="timeout")
LONG = ContextTooLong("too long")
BAD = view("no/such/file.py")

WAYS: dict[str, tuple[tuple[Step, ...], str]] = {
    "well-formed": ((*START, view(GOLDEN), ranked(GOLDEN), SURE), "tool tool tool answer answer"),
    "chatty": ((f"Well, {EXTRACT} it is.", EXTRACTED, SEARCH, ranked(GOLDEN), SURE), "tool tool answer answer"),
    "partial": ((*START, '{"ranked_files": ["', ranked(GOLDEN), SURE), "tool tool reprompt answer answer"),
    "refusing": (("I cannot.",) * 3, "reprompt reprompt abort"),
    "looping": ((*START, *[view(GOLDEN)] * 6), "tool tool tool tool tool abort-view abort-view abort-view abort"),
    "wrong path": ((*START, BAD, view(GOLDEN), ranked(GOLDEN), SURE), "tool tool reprompt tool answer answer"),
    "wrong list": ((*START, ranked("x.py"), ranked(GOLDEN), SURE), "tool tool reprompt answer answer"),
    "over-long": ((EXTRACT, LONG), "tool abort"),
    "late": ((*START, LATE), "tool tool timeout"),
    "unreviewed": (
        (*START, call("view_readme"), ranked(GOLDEN), "?", "?", "?"),
        "tool tool tool answer reprompt reprompt abort",
    ),
}


def real_rows() -> list[dict[str, str]]:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    found = [row for row in rows if row["repo"] in SMALL and _mirrored(row["repo"])]
    if len(found) < len(WAYS):
        pytest.skip(f"fewer than {len(WAYS)} mirrored instances in {MIRRORS}")
    return found[: len(WAYS)]


def _mirrored(repo: str) -> bool:
    return (MIRRORS / f"{repo.replace('/', '__')}.git").is_dir()


def filled(step: Step, golden: str) -> Step:
    return step.replace(GOLDEN, golden) if isinstance(step, str) else step


def test_ten_ways_through_ten_real_instances(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "mirrors").symlink_to(MIRRORS)
    places = Places(store=str(tmp_path / "store"), cache=cache, recipes=tmp_path, scratch=tmp_path)
    store = Store(places.store)
    for row, (name, (script, expected)) in zip(real_rows(), WAYS.items(), strict=True):
        key = InstanceKey(row["instance_id"])
        golden = next(line.path for line in changed_lines(key, row["patch"]))
        report = IssueReport(
            instance_key=key,
            repo=RepoName(row["repo"]),
            base_commit=Sha(row["base_commit"]),
            statement=row["problem_statement"],
        )
        model = Scripted([filled(step, golden) for step in script])
        localize_with_agent(places, AgentSettings(), (report,), "scripted", lambda _, model=model: model)
        steps = sorted(store.read(LocalizationStep, instance_key=key), key=lambda step: step.position)
        assert " ".join(step.kind for step in steps) == expected, name
        (run,) = store.read(LocalizationRun, instance_key=key)
        paths = [place.path for place in store.read(Localization, instance_key=key)]
        assert paths == ([golden] if run.status == "ranked" else []), name
    assert {run.status for run in store.read(LocalizationRun)} == {"ranked", "aborted", "timeout"}
