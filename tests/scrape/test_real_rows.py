"""Published data sets and predictions, where they lie beside the project."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId
from tasks.evaluate.intake.predictions import read_predictions
from tasks.scrape.dataset_rows import import_instances

DATA = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the published data sets are not beside the project"),
]


@pytest.mark.parametrize(("name", "rows"), [("lite", 139), ("verified", 202)])
def test_every_row_is_taken(name: str, rows: int) -> None:
    result = import_instances(DATA / f"swe-bench-{name}.dev.jsonl", snapshot=name)
    assert result.problems == ()
    assert len(result.instances) == rows


def test_both_sets_agree_on_the_key_of_a_shared_instance() -> None:
    lite, verified = instances("lite"), instances("verified")
    shared = lite.keys() & verified.keys()
    assert len(shared) == 45
    assert all(lite[name].instance_key == verified[name].instance_key for name in shared)


@pytest.mark.parametrize("name", ["assertflip-default", "direct-fail-variant"])
def test_every_prediction_is_taken(name: str) -> None:
    """Only part of the data set lies here, so some predictions are for instances that nobody here knows."""
    path = DATA / f"predictions.{name}.dev.jsonl"
    result = read_predictions(path, instances("verified").values(), created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert {problem.what for problem in result.problems} <= {"there is no such instance in the snapshot"}
    lines = len(path.read_text().splitlines())
    assert len(result.candidates) + len(result.problems) == lines
    assert not any(candidate.problem for candidate in result.candidates)


def instances(name: str) -> dict[InstanceId, TaskInstance]:
    rows = import_instances(DATA / f"swe-bench-{name}.dev.jsonl", snapshot=name).instances
    return {row.instance_id: row for row in rows}
