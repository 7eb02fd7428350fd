"""All rules on a small repository: what is an instance, what is rejected, and by which rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from small_history import REPO, TEN, Source, day, issue_row, link_row, new_source, pull_row

from tasks.adapters.git.changes import Range
from tasks.adapters.patch.read import to_text
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import build_views, query
from tasks.domain.collect import Issue, IssueLink, PullRequest, Rejection, Repository, RepositoryState
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoPath, Sha
from tasks.domain.places import Places
from tasks.domain.scraping import PULL_REQUEST_PAGES, SyncState
from tasks.filter.paths import is_test
from tasks.filter.rules import RULES, RuleLimits
from tasks.filter.screen import Material, Screened, SplitDiff, screen, split_diff
from tasks.filter.task import ToFilter, filter_pull_requests

SQL = Path(__file__).parents[2] / "sql"
REPOSITORY = Repository(repo=REPO, licence="MIT", default_branch="main")
BOTH = {"pkg/a.py": (1, 1), "tests/test_a.py": (1, 0)}
UNDONE = {"pkg/a.py": (1, 1), "tests/test_a.py": (0, 1)}
MERGED = day(7)
EDIT = TEN.replace("line 3\n", "changed 3\n")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return new_source(tmp_path_factory.mktemp("screen") / "source")


@pytest.fixture(scope="module")
def fixed(source: Source) -> Sha:
    """The commit of a fix with its test."""
    return source.commit({"pkg/a.py": EDIT, "tests/test_a.py": TEN + "new\n"}, "the fix")


@pytest.fixture(scope="module")
def reverted(source: Source, fixed: Sha) -> Sha:
    return source.commit({"pkg/a.py": TEN, "tests/test_a.py": TEN}, "out again")


@pytest.fixture(scope="module")
def landed_again(source: Source, reverted: Sha) -> Sha:
    return source.commit({"pkg/a.py": EDIT, "tests/test_a.py": TEN + "new\n"}, "in again")


def screened(
    source: Source,
    pulls: Sequence[PullRequest],
    issues: Sequence[Issue] = (issue_row(),),
    links: Sequence[IssueLink] | None = None,
    repository: Repository = REPOSITORY,
) -> Screened:
    linked = [link_row(pull.number) for pull in pulls] if links is None else links
    material = Material(repository=repository, pulls=pulls, issues=issues, links=linked)
    return screen(material, source.changes(source.folder.parent / "mirrors"), RuleLimits(), snapshot="s")


def failing(done: Screened) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {base.number: [] for base in done.bases}
    for row in done.rejections:
        found[row.number].append(row.rule)
    return found


def test_a_fix_becomes_an_instance(source: Source, fixed: Sha) -> None:
    done = screened(source, [pull_row(7, BOTH, merge=fixed)])
    (instance,) = done.instances
    assert done.rejections == ()
    assert (instance.instance_id, instance.base_commit) == ("owner__name-7", source.git("rev-parse", f"{fixed}^"))
    assert "pkg/a.py" in instance.patch
    assert "tests/" not in instance.patch
    assert "tests/test_a.py" in instance.test_patch
    assert instance.problem_statement.startswith("It breaks when asked\nI did this")
    assert (instance.problem_statement_mode, instance.version, instance.FAIL_TO_PASS) == ("unedited", None, None)


def test_undone_and_landed_again(source: Source, fixed: Sha, reverted: Sha, landed_again: Sha) -> None:
    shown = ((7, BOTH, fixed), (8, UNDONE, reverted), (9, BOTH, landed_again))
    pulls = [pull_row(number, files, merge=sha) for number, files, sha in shown]
    done = screened(source, pulls)
    assert failing(done) == {7: [], 8: ["not_a_revert"], 9: ["not_a_revert", "not_landed_before"]}
    assert [row.detail for row in done.rejections] == ["undoes #7", "undoes #8", "same change as #7"]


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({"merged_at": None}, ["merged"]),
        ({"base_branch": "1.x"}, ["default_branch"]),
        ({"author_kind": "Bot"}, ["not_a_bot"]),
        ({"author": "renovate[bot]"}, ["not_a_bot"]),
        ({"author": "talbot"}, []),
        ({"author": None, "author_kind": ""}, []),
        ({"title": 'Revert "A fix"'}, ["not_a_revert"]),
        ({"title": "Revert to the old default"}, []),
        ({"body": "This reverts commit abc."}, ["not_a_revert"]),
        ({"title": "Revert the change of defaults", "body": "Too early.\n\nReverts #12"}, ["not_a_revert"]),
        ({"title": "[2.x] Revert 'A fix'", "body": "Reverts owner/name#12"}, ["not_a_revert"]),
        ({"body": '* A fix\r\n\r\n* Revert "A fix"\r\n\r\nThis reverts commit abc.\r\n\r\n* Better'}, []),
        ({"title": "[5.1] A fix"}, []),
        ({"title": "Backport #5 to 1.x"}, ["not_landed_before"]),
        ({"title": "[Backport 1.x] A fix"}, ["not_landed_before"]),
        ({"title": "Cherry-pick: 1.2.3 (#5)"}, ["not_landed_before"]),
        ({"title": 'Re-apply "A fix"'}, ["not_landed_before"]),
        ({"body": f"A fix\n\n(cherry picked from commit {'ab' * 20})"}, ["not_landed_before"]),
        ({"body": f"* One\n\n(cherry picked from commit {'ab' * 20})\n\n* Two"}, []),
        ({"title": "Backport jobs may write comments"}, []),
        ({"title": "Bump owner/backport from 2.1.1 to 2.1.2"}, []),
        ({"title": "Say that SNI was backported"}, []),
        ({"merge_commit": None}, ["base_verified"]),
        ({"path_additions": (1, 4000)}, ["size", "base_verified"]),
        ({"path_changes": ("modified", "deleted")}, ["test_file"]),
        ({"paths": ("docs/a.rst", "tests/test_a.py")}, ["source_file", "base_verified"]),
    ],
)
def test_rules(source: Source, fixed: Sha, fields: dict[str, object], rules: list[str]) -> None:
    assert failing(screened(source, [pull_row(7, BOTH, merge=fixed, **fields)]))[7] == rules


@pytest.fixture
def pull(fixed: Sha) -> PullRequest:
    return pull_row(7, BOTH, merge=fixed)


def test_rules_about_links(source: Source, pull: PullRequest) -> None:
    marks = ("is_pull_request", "opened_after", "other_repository")
    unusable = [link_row(7, number, **{mark: True}) for number, mark in enumerate(marks, 90)]
    (row,) = screened(source, [pull], links=[*unusable, link_row(7, 99, known=False)]).rejections
    assert row.rule == "linked_issue"
    assert row.detail == "4 unusable: a pull request, another repository, opened after, unknown"
    assert failing(screened(source, [pull], links=[]))[7] == ["linked_issue"]
    assert failing(screened(source, [pull], links=[*unusable, link_row(7)], issues=[issue_row()]))[7] == []


def test_rules_about_statement_and_licence(source: Source, pull: PullRequest) -> None:
    assert failing(screened(source, [pull], [issue_row(body="")]))[7] == ["statement_length"]
    assert failing(screened(source, [pull], [issue_row(body="word " * 6000)]))[7] == ["statement_length"]
    closed = replace(REPOSITORY, licence="LicenseRef-closed")
    assert failing(screened(source, [pull], repository=closed))[7] == ["licence"]


def test_globs_of_a_repository(source: Source, pull: PullRequest) -> None:
    assert failing(screened(source, [pull], repository=replace(REPOSITORY, source_globs=("tests/*",))))[7] == [
        "test_file"
    ]
    assert failing(screened(source, [pull], repository=replace(REPOSITORY, test_globs=("pkg/*",))))[7] == [
        "source_file"
    ]
    assert is_test("spec/deep/x.py", replace(REPOSITORY, test_globs=("spec/*",)))


@pytest.mark.parametrize(
    ("listed", "found", "rejected"),
    [
        ("MIT", None, False),
        ("MIT", "MIT", False),
        ("GPL-2.0-or-later", "GPL-2.0", False),
        ("MIT", "GPL-3.0", True),
        ("Proprietary", "Proprietary", True),
    ],
)
def test_the_licence_of_our_list_is_held_against_that_of_github(
    source: Source, fixed: Sha, listed: str, found: str | None, rejected: bool
) -> None:
    state = RepositoryState(repo=REPOSITORY.repo, name_now=REPO, licence=found, default_branch="main", archived=False)
    material = Material(
        repository=replace(REPOSITORY, licence=listed),
        pulls=[pull_row(7, BOTH, merge=fixed)],
        issues=[issue_row()],
        links=[link_row(7)],
        states=[state],
    )
    done = screen(material, source.changes(source.folder.parent / "mirrors"), RuleLimits(), snapshot="s")
    assert [row.rule for row in done.rejections] == (["licence"] if rejected else [])


def test_the_halves_make_the_merged_tree_and_less_does_not(source: Source) -> None:
    base = source.head
    files: dict[str, str | bytes | None] = {
        "pkg/moved.py": TEN,
        "pkg/b.py": None,
        "logo.png": bytes(range(256)) * 9,
        'tests/ä "b".py': "no newline",
        "tests/data/diff --git a.txt": "diff --git a/x b/x\n",
        "pkg/crlf.py": "x\r\ny\r\n",
        "tests/empty.py": "",
    }
    change = Range(base, source.commit(files, "odd"))
    changes = source.changes(source.folder.parent / "mirrors")
    whole = changes.patch(change)
    split = split_diff(whole, is_test_path)
    assert len(split.source) + len(split.tests) == len(whole)
    assert to_text(split.tests).count("\ndiff --git ") + 1 == 3
    cases = [
        (change, (split.source, split.tests)),
        (change, (split.source,)),
        (change, (b"", b"")),
        (Range(base, base), ()),
    ]
    assert changes.replay([*cases, (change, (split.source, split.source))]) == (True, False, False, True, False)


def test_a_merge_that_changes_nothing_has_two_empty_halves() -> None:
    assert split_diff(b"", is_test_path) == SplitDiff(source=b"", tests=b"")


@pytest.mark.slow
def test_the_task_writes_rows_and_the_funnel_counts_them(
    source: Source, fixed: Sha, reverted: Sha, tmp_path: Path
) -> None:
    store = Store(str(tmp_path / "store"))
    store.seed()
    pulls = [
        pull_row(7, BOTH, merge=fixed),
        pull_row(8, UNDONE, merge=reverted),
        pull_row(9, {"README.md": (1, 0)}, merge=None, paths=(RepoPath("README.md"),)),
    ]
    for rows in (pulls, [issue_row()], [link_row(7), link_row(8)]):
        store.write(rows)
    cache = tmp_path / "cache"
    places = Places(store=store.url, cache=cache, recipes=tmp_path, scratch=tmp_path)
    source.changes(places.mirrors)
    for _ in range(2):
        done = filter_pull_requests(
            places, ToFilter(repo=REPOSITORY.repo, repository=REPOSITORY, limits=RuleLimits(), snapshot="new")
        )
    assert (done.pulls, done.proved, done.rejected, done.instances) == (3, 2, 2, ("owner__name-7",))
    assert len(store.read(TaskInstance, snapshot="new")) == 1
    assert len(store.read(Rejection)) == 5
    build_views(store.url, tmp_path / "x.duckdb", SQL)
    asked = query(
        tmp_path / "x.duckdb", "SELECT rule, remaining, failing, failing_alone FROM funnel WHERE repo IS NULL"
    )
    rows = [tuple(row.values()) for row in asked.to_pylist()]
    assert [row[0] for row in rows] == [rule.name for rule in RULES]
    assert [row for row in rows if row[2]] == [
        ("linked_issue", 2, 1, 0),
        ("test_file", 2, 1, 0),
        ("source_file", 2, 1, 0),
        ("not_a_revert", 1, 1, 1),
        ("base_verified", 1, 1, 0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True], ids=["parts", "packs"])
def test_what_passes_no_more_leaves_the_pool_and_what_was_never_filtered_passes_nothing(
    source: Source, fixed: Sha, tmp_path: Path, packed: bool
) -> None:
    store = Store(str(tmp_path / "store"))
    for rows in ([pull_row(7, BOTH, merge=fixed)], [issue_row()], [link_row(7)]):
        store.write(rows)
    places = Places(store=store.url, cache=tmp_path / "cache", recipes=tmp_path, scratch=tmp_path)
    source.changes(places.mirrors)
    unit = ToFilter(repo=REPOSITORY.repo, repository=REPOSITORY, limits=RuleLimits(), snapshot="new")
    build_views(store.url, tmp_path / "x.duckdb", SQL)
    asked = "SELECT pull_requests, unfiltered, remaining FROM funnel WHERE repo IS NULL ORDER BY step DESC LIMIT 1"
    assert query(tmp_path / "x.duckdb", asked).to_pylist() == [{"pull_requests": 1, "unfiltered": 1, "remaining": 0}]

    assert filter_pull_requests(places, unit).instances == ("owner__name-7",)
    if packed:
        store.compact(grace_s=0)
    assert query(tmp_path / "x.duckdb", asked).to_pylist() == [{"pull_requests": 1, "unfiltered": 0, "remaining": 1}]
    filter_pull_requests(places, replace(unit, limits=RuleLimits(min_statement_words=500)))

    assert store.read(TaskInstance, snapshot="new") == ()
    assert [row.rule for row in store.read(Rejection)] == ["statement_length"]
    filter_pull_requests(places, unit)
    assert store.read(Rejection) == ()
    assert len(store.read(TaskInstance, snapshot="new")) == 1


def sync_state(*, backfill_since: datetime | None, **asked: datetime | None) -> SyncState:
    return SyncState(
        repo=REPO,
        kind=PULL_REQUEST_PAGES,
        watermark=MERGED,
        backfill_cursor=None,
        backfill_since=backfill_since,
        backfill_done=True,
        counted_at=None,
        counted=None,
        total=None,
        synced_at=MERGED,
        **asked,
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"backfill_since": None, "asked_since": None}, []),
        ({"backfill_since": None, "asked_since": MERGED}, []),
        ({"backfill_since": None, "asked_since": MERGED + timedelta(days=1)}, ["in_window"]),
        ({"backfill_since": MERGED + timedelta(days=1)}, ["in_window"]),  # a row of before the day was kept
    ],
    ids=["all", "since then", "since the day after", "an older row"],
)
def test_what_was_merged_before_the_window_comes_with_a_page_and_is_no_instance(
    source: Source, fixed: Sha, tmp_path: Path, asked: dict[str, datetime | None], found: list[str]
) -> None:
    store = Store(str(tmp_path / "store"))
    for rows in ([pull_row(7, BOTH, merge=fixed)], [issue_row()], [link_row(7)], [sync_state(**asked)]):
        store.write(rows)
    places = Places(store=store.url, cache=tmp_path / "cache", recipes=tmp_path, scratch=tmp_path)
    source.changes(places.mirrors)
    unit = ToFilter(repo=REPOSITORY.repo, repository=REPOSITORY, limits=RuleLimits(), snapshot="new")
    assert filter_pull_requests(places, unit).instances == (() if found else ("owner__name-7",))
    assert [row.rule for row in store.read(Rejection)] == found
