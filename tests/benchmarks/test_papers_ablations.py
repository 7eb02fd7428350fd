"""The benchmark of the papers' ablations has every name that the documentation has, and says what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ablation_rows import ABLATIONS, Search, Warehouse
from benchmarks.ablations import DEMO_INSTANCES, displaced, opened, stray, tried
from benchmarks.knowing_model import Knowing
from tests.fakes.scripted_provider.server import ScriptedProvider

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_of_the_documentation_is_tried() -> None:
    text = (ROOT / "docs" / "experiments.md").read_text("utf-8")
    rows = text.partition("## The papers' ablations")[2].partition("\n\nThe supplement")[0].splitlines()
    names = {name for row in rows if row.startswith("| ") for name in re.findall("`([^`]+)`", row.split("|")[3])}
    assert "libro[filter=off]" in names
    assert names <= {one.label for one in ABLATIONS}


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    provider = ScriptedProvider(lambda call: Knowing(made.issues)(call))
    with provider.serve() as url:
        made = opened(tmp_path, None, None, DEMO_INSTANCES, provider, url)
        yield made


def test_what_is_there_and_what_is_missing(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Search(top_n=1, calls=5)
    assert tried(whole, warehouse)
    for less, said in (
        (replace(whole, calls=4), "5 replies"),
        (replace(whole, otherwise=lambda _: False), "not asked as its name says"),
        (replace(whole, generates=True), "0 candidates; 0 verdicts"),
    ):
        assert not tried(less, warehouse)
        assert said in capsys.readouterr().out.splitlines()[-1]
    assert displaced([whole], (), warehouse) == []
    assert stray(warehouse) == []
