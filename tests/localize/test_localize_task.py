"""The stage's tasks on a real mirror and a real store: ids in, rows out, nothing made twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_repository import EXTRACT, EXTRACTED, SEARCH, call, ranked, view

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import UsageError
from tasks.domain.localization import IssueReport, Localization, LocalizationRun, LocalizationStep, RetrieverKind
from tasks.domain.names import InstanceKey, RepoName, Sha
from tasks.domain.places import Places
from tasks.localize.settings import AgentSettings, Bm25Settings
from tasks.localize.task import Localized, localize_with_agent, localize_with_bm25
from tests.fakes.scripted_model import Scripted, Step

DEMO = RepoName("rolling-swt-bench/larder")


@pytest.fixture
def places(demo_mirror: Path, tmp_path: Path) -> Places:
    cache = tmp_path / "cache"
    Mirrors(cache / "mirrors").add(DEMO, demo_mirror)
    return Places(store=str(tmp_path / "store"), cache=cache, recipes=tmp_path, scratch=tmp_path)


@pytest.fixture
def reports(places: Places) -> tuple[IssueReport, ...]:
    commit = Sha(Mirrors(places.mirrors).commit(DEMO, "HEAD"))
    statements = ("Units are converted wrongly\nconvert() of unit", "The shelf is lost\nshelf")
    return tuple(
        IssueReport(instance_key=InstanceKey(f"key{at}"), repo=DEMO, base_commit=commit, statement=text)
        for at, text in enumerate(statements)
    )


def test_bm25_ranks_each_report_once(places: Places, reports: tuple[IssueReport, ...]) -> None:
    settings = Bm25Settings()
    first = localize_with_bm25(places, settings, reports)
    again = localize_with_bm25(places, settings, reports)
    assert (first.made, first.reused, again.made, again.reused) == (2, 0, 0, 2)
    assert first.localization_ids == again.localization_ids
    store = Store(places.store)
    runs = store.read(LocalizationRun)
    ranking = store.read(Localization)
    assert sum(run.files for run in runs) == len(ranking) > 0
    assert {(run.status, run.method, run.variant, run.model) for run in runs} == {("ranked", "bm25", "code", "")}
    assert {(step.tool, step.k) for step in store.read(LocalizationStep)} == {("bm25", 30)}
    first_files = [row for row in ranking if row.rank == 1]
    assert all(row.path.endswith(".py") and row.tokens > 0 and row.score for row in first_files)
    assert not [row for row in ranking if "test" in row.path]


def test_other_variants_depths_and_words_are_other_localizations(
    places: Places, reports: tuple[IssueReport, ...]
) -> None:
    for settings in (
        Bm25Settings(),
        Bm25Settings(variant=RetrieverKind.LUCENE),
        Bm25Settings(k=10),
        Bm25Settings(with_tests=True),
    ):
        localize_with_bm25(places, settings, reports[:1])
    localize_with_bm25(places, Bm25Settings(), (replace(reports[0], statement="Other words"),))
    assert len({row.localization_id for row in Store(places.store).read(LocalizationRun)}) == 5
    assert any("test" in row.path for row in Store(places.store).read(Localization, with_tests=True))


@pytest.mark.parametrize("k", [9, 31])
def test_k_is_from_10_to_30(k: int) -> None:
    with pytest.raises(UsageError):
        Bm25Settings(k=k)


def test_a_missing_mirror_is_told_and_the_others_are_localized(
    places: Places, reports: tuple[IssueReport, ...]
) -> None:
    lost = replace(reports[0], repo=RepoName("nobody/nothing"))
    done = localize_with_bm25(places, Bm25Settings(), (lost, reports[1]))
    assert done.made == 1
    (left,) = done.left
    assert "nobody/nothing" in left.detail


def by_agent(places: Places, reports: tuple[IssueReport, ...], *replies: Step) -> Localized:
    model = Scripted(replies)
    done = localize_with_agent(places, AgentSettings(top_n=1), reports, "scripted", lambda _: model)
    assert model.finished()
    return done


def any_file(places: Places, report: IssueReport) -> str:
    listing = Mirrors(places.mirrors).list_paths(report.repo, report.base_commit)
    return next(path for path in listing if path.endswith(".py") and "test" not in path)


def test_the_agent_looks_into_the_commit(places: Places, reports: tuple[IssueReport, ...]) -> None:
    path = any_file(places, reports[0])
    way = (EXTRACT, EXTRACTED, SEARCH, call("view_readme"), view(path), ranked(path), ranked(path, scores=[8]))
    assert by_agent(places, reports[:1], *way).made == 1
    assert by_agent(places, reports[:1]).reused == 1
    store = Store(places.store)
    (run,) = store.read(LocalizationRun)
    (row,) = store.read(Localization)
    assert (run.calls, run.views, run.reviewed, run.model, run.top_n) == (7, 2, True, "scripted", 1)
    assert (row.path, row.confidence, row.rank) == (path, 8, 1)
    steps = sorted(store.read(LocalizationStep), key=lambda step: step.position)
    assert [step.tool for step in steps] == ["extract_relevant", "bm25", "view_readme", "view_file", "", ""]


def test_a_timeout_is_made_again(places: Places, reports: tuple[IssueReport, ...]) -> None:
    path = any_file(places, reports[0])
    assert by_agent(places, reports[:1], ProviderFailed("late", kind="timeout")).timeouts == 1
    assert by_agent(places, reports[:1], ranked(path), ranked(path, scores=[8])).made == 1
    (run,) = Store(places.store).read(LocalizationRun)
    assert run.status == "ranked"


def test_a_failing_provider_keeps_what_was_made(places: Places, reports: tuple[IssueReport, ...]) -> None:
    path = any_file(places, reports[0])
    done = by_agent(places, reports, ranked(path), ranked(path, scores=[8]), ProviderFailed("busy", kind="server"))
    assert [(one.subject, one.may_pass) for one in done.left] == [(reports[1].instance_key, True)]
    assert len(Store(places.store).read(LocalizationRun)) == 1
    assert by_agent(places, reports, ranked(path), ranked(path, scores=[8])).reused == 1
