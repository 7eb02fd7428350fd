"""What cannot be done is not lost: a failure in any repeat of a validation, or in collecting, is told and counts."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.faults import Faulty, disk_full
from flows import rebuild as rebuilding
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.engine.units import start_flow
from flows.interface.requests import ValidationRequest
from flows.interface.settings import Settings
from flows.interface.snapshot_requests import PublishRequest, RebuildRequest
from flows.rebuild import RebuildSummary, rebuild
from flows.snapshots import SnapshotSummary, freeze, import_rows
from flows.validate import STORY, ValidationSummary, validate
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.errors import InfrastructureError
from tasks.domain.instance import Snapshot
from tasks.domain.validation import InvalidReason
from tasks.scrape.task import TOKEN_VARIABLES
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.server import listening
from tests.fakes.local_github.world import World, open_repository

pytestmark = pytest.mark.slow

LARDER = "rolling-swt-bench/larder"
INSTANCES = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))


def validated(settings: Settings, board: Faulty) -> ValidationSummary:
    request = ValidationRequest(snapshot=SNAPSHOT, instances=INSTANCES)
    return start_flow(STORY, request.title, Store(settings.store), board, lambda run: validate(request, settings, run))


def test_where_every_repeat_fails_nothing_is_valid(settings: Settings) -> None:
    full = validated(settings, Faulty(disk_full("validation", "settling", "doubts")))
    assert (full.valid, full.exit_code) == ((), 1)
    assert {row.reason for row in full.validations} == {InvalidReason.INFRASTRUCTURE}
    assert all("disk full" in row.detail for row in full.validations)
    asked = "SELECT subject, round, error, detail, attempts, may_pass FROM {} ORDER BY subject"
    rows = query(settings.database, asked.format("undone")).to_pylist()
    expected = [(name, "validation", "infrastructure", "disk full", 2, True) for name in INSTANCES]
    assert [tuple(row.values()) for row in rows] == expected
    assert query(settings.database, asked.format("undone_now")).num_rows == 2

    free = validated(settings, Faulty(disk_full()))
    assert (free.valid, free.exit_code, free.undone) == (INSTANCES, 0, ())
    assert query(settings.database, asked.format("undone")).num_rows == 2, "rows stay"
    assert query(settings.database, asked.format("undone_now")).num_rows == 0, "and are made up for"


@pytest.fixture
def hub(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setenv(TOKEN_VARIABLES[0], "any")
    mirror = build_demo_mirror(settings)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=tmp_path / "github", license="MIT")
    return Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC)))


def rebuilt(settings: Settings, url: str, board: Faulty, free_gb: float = 0) -> RebuildSummary:
    request = RebuildRequest(snapshot="2025-08", repositories_file=DEMO / "repositories.toml", limit=1, free_gb=free_gb)
    there = replace(settings, github=url, git="")
    return start_flow(
        rebuilding.STORY, request.title, Store(settings.store), board, lambda run: rebuild(request, there, run)
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_month_that_was_not_collected_or_judged_is_not_published(settings: Settings, hub: Hub) -> None:
    with listening(hub) as url:
        for round_ in ("scrape", "rows", "filter", "validation"):
            held = rebuilt(settings, f"{url}/graphql", Faulty(disk_full(round_)))
            assert (held.published, held.exit_code) == (None, 1), round_
            assert "is not published, and stays a draft" in held.text
            assert ("publish", "held-back") in {(row.round, row.error) for row in held.undone}
            assert any(row.round == round_ and row.detail == "disk full" for row in held.undone)
        free = rebuilt(settings, f"{url}/graphql", Faulty(disk_full()))
    assert (free.exit_code, free.undone) == (0, ())
    assert free.published
    assert free.published.snapshot.instances == 1
    assert query(settings.database, "FROM undone_now").num_rows == 0


def test_without_a_token_or_a_network_nothing_starts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    build_demo_mirror(settings)
    for name in TOKEN_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    board = Faulty(disk_full())
    refused = rebuilt(settings, "http://127.0.0.1:9/graphql", board)
    assert (refused.published, refused.exit_code) == (None, 3)
    assert {row.error for row in refused.undone} == {"github-token", "held-back"}
    monkeypatch.setenv(TOKEN_VARIABLES[0], "any")
    away = rebuilt(settings, "http://127.0.0.1:9/graphql", board)
    assert (away.published, away.exit_code) == (None, 3)
    assert {row.error for row in away.undone} == {"github", "held-back"}
    assert {name for name, _ in board.asked} == {"reach"}


def test_where_the_disk_is_nearly_full_nothing_starts(settings: Settings) -> None:
    board = Faulty(disk_full())
    with pytest.raises(InfrastructureError, match=r"GB free, and a rebuild begins with 1e\+09"):
        rebuilt(settings, "http://127.0.0.1:9/graphql", board, free_gb=1e9)
    assert not board.asked


def test_a_snapshot_is_not_published_while_its_facts_are_not_counted(settings: Settings, tmp_path: Path) -> None:
    row = json.loads((DEMO / "instances.jsonl").read_text("utf-8").splitlines()[0])
    nowhere = row["test_patch"].replace("tests/test_recipe.py", "tests/test_that_is_not_there.py")
    file = tmp_path / "pool.jsonl"
    file.write_text(json.dumps(row | {"test_patch": nowhere}) + "\n", "utf-8")
    import_rows(settings, file, "pool")
    request = PublishRequest(pool="pool", snapshot="frozen")

    def frozen(board: Faulty) -> SnapshotSummary:
        return start_flow(
            "freeze", request.title, Store(settings.store), board, lambda run: freeze(request, settings, run)
        )

    full = frozen(Faulty(disk_full("facts")))
    assert full.exit_code == 1
    assert "frozen is not published: its facts are not counted" in full.text
    assert Store(settings.store).read(Snapshot, snapshot="frozen") == ()
    free = frozen(Faulty(disk_full()))
    assert (free.exit_code, free.text.splitlines()[-1][:27]) == (0, "snapshot frozen: 0 instance")
