"""Every chart is valid Vega-Lite and is drawn, also with names that mean something to Vega, XML or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from tasks.report import charts
from tasks.report.drawing import draw, inline

NAMES = ("plain", "datum['x']", "<b>&amp;\"'</b>", "a\nb", "")
SCORE = {"S": 20.0, "S_low": 10.0, "S_high": 30.0, "S_robust": None}
SPLIT = {"model": "m", "S_before": 20.0, "S_after": 10.0, "p_exact": 0.2}
KEPT = {
    **{"base_precision": 10.0, "precision": 20.0, "precision_low": 5.0, "precision_high": 40.0},
    **{"recall": None, "recall_low": None, "recall_high": None},
}

ROWS: dict[str, list[dict[str, Any]]] = {
    "score": [{"name": name, **SCORE} for name in NAMES],
    "ability": [{"name": name, **SCORE, "ability": 0.1, "ability_low": -0.4, "ability_high": 0.6} for name in NAMES],
    "hardness": [
        {"snapshot": name, "difficulty": 0.1, "difficulty_low": 0.0, "difficulty_high": 0.6} for name in NAMES
    ],
    "repair": [{"name": name, "pass_rate": 20.0, "pass_low": 10.0, "pass_high": 30.0} for name in NAMES],
    "filtering": [{"name": name, **KEPT} for name in NAMES],
    "overlap": [{"methods": list(NAMES[:2]), "exactly": 3}, {"methods": [NAMES[2]], "exactly": 1}],
    "coverage": [
        {"name": name, "outcome": outcome, "coverage": 40.0} for name in NAMES for outcome in ("solved", "all")
    ],
    "contamination": [
        {"method": name, **SPLIT} for name in NAMES
    ] + [{"method": "one side", **SPLIT, "S_before": None, "p_exact": None}],
    "cost": [{"name": name, "method": name, "S": 20.0, "usd": 10.0**place} for place, name in enumerate(NAMES)],
    "years": [{"name": name, "year": year, **SCORE} for name in NAMES for year in (2024, 2025)],
    "trend": [{"name": name, "snapshot": snapshot, **SCORE} for name in NAMES for snapshot in NAMES],
    "difficulty": [{"methods": number % 3} for number in range(9)],
    "funnel": [{"rule": rule, "pull_requests": 10, "remaining": 4} for rule in ("merged", "licence")],
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_chart_is_drawn(name: str) -> None:
    drawn = draw(charts.styled(getattr(charts, name)(ROWS[name])).to_json(indent=None))
    assert drawn.pdf.startswith(b"%PDF")
    shown = ElementTree.fromstring(inline(drawn.svg, name))
    assert "plain" in "".join(shown.itertext()) or name in ("difficulty", "funnel")


def test_each_bar_of_the_overlap_stands_above_the_dots_of_its_set() -> None:
    """Whatever the width of names and axes."""
    rows = [{"methods": ["a long name of a method", "b"], "exactly": 12000}, {"methods": ["b"], "exactly": 1}]
    root = ElementTree.fromstring(draw(charts.styled(charts.overlap(rows)).to_json(indent=None)).svg)
    bars = {round(left + 8) for left in xs(root, "rect", size=16.0)}
    assert len(bars) == 2
    assert bars <= {round(x) for x in xs(root, "symbol")}


def test_the_dots_of_the_overlap_stand_in_the_row_of_their_method() -> None:
    """All layers have the order of the bars on the left; without a domain of their own two of them fall back on the
    alphabet."""
    rows = [{"methods": ["z"], "exactly": 4}, {"methods": ["a", "z"], "exactly": 1}]
    shown = charts.styled(charts.overlap(rows)).to_dict()
    *_, left, matrix = shown["concat"]
    encodings = [left["encoding"], *(layer["encoding"] for layer in matrix["layer"])]
    assert [one["y"]["scale"]["domain"] for one in encodings] == [["z", "a"]] * 3


def xs(element: ElementTree.Element, mark: str, size: float = 0, x: float = 0, inside: bool = False) -> Iterator[float]:
    """Where the marks of a kind are, from the left; of rectangles the left side of those of that width."""
    moved = re.match(r"translate\(([-\d.]+)", element.get("transform", ""))
    x += float(moved[1]) if moved else 0
    path = re.match(r"M([-\d.]+),[-\d.]+h([-\d.]+)", element.get("d", ""))
    if inside and not size and element.get("transform"):
        yield x
    if inside and path and float(path[2]) == size:
        yield x + float(path[1])
    inside = inside or f"mark-{mark}" in element.get("class", "")
    for child in element:
        yield from xs(child, mark, size, x, inside)
