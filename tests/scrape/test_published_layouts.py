"""Layouts in which instances are published: every fact is read, or the column is named once with a count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.scrape.dataset_rows import ImportResult, import_instances

SHA = "1" * 40
ROW = {
    "repo": "acme/widget",
    "instance_id": "acme__widget-1",
    "base_commit": SHA,
    "patch": "-a\n+b\n",
    "test_patch": "-c\n+d\n",
    "problem_statement": "It breaks.",
}
NAMES = ("tests/test_core.py::test_add", "tests/test_core.py::test_it's")
INPUTS = Path(__file__).parents[3] / "shared" / "inputs"


def read(folder: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> ImportResult:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return import_instances(file, snapshot="s")


@pytest.mark.parametrize("listed", [list(NAMES), json.dumps(NAMES), repr(list(NAMES)), repr(NAMES[:1] + NAMES[1:])])
@pytest.mark.parametrize("column", ["FAIL_TO_PASS", "fail_to_pass"])
def test_lists_of_cases_in_either_spelling(tmp_path: Path, column: str, listed: object) -> None:
    result = read(tmp_path, ROW | {column: listed})
    if str(listed).startswith("("):
        (problem,) = result.problems
        assert problem.what == "FAIL_TO_PASS is a tuple and not a list: read as missing"
        return
    assert result.problems == result.notes == ()
    assert result.instances[0].FAIL_TO_PASS == NAMES


@pytest.mark.parametrize("text", ["[1", "__import__('os')", "[" * 10_000, "['a', f()]", "nothing"])
def test_text_that_is_no_list_is_named_and_not_run(tmp_path: Path, text: str) -> None:
    result = read(tmp_path, ROW | {"FAIL_TO_PASS": text})
    (problem,) = result.problems
    assert problem.what == "FAIL_TO_PASS is text that is neither a JSON list nor a Python list: read as missing"
    assert result.instances[0].FAIL_TO_PASS is None


def test_a_fact_that_is_dropped_in_many_rows_is_one_line(tmp_path: Path) -> None:
    rows = [ROW | {"instance_id": f"acme__widget-{n}", "PASS_TO_PASS": "nothing", "score": 1} for n in range(300)]
    lines = read(tmp_path, *rows).lines("rows.jsonl")
    assert lines == (
        "rows.jsonl:1: acme__widget-0: PASS_TO_PASS is text that is neither a JSON list nor a Python list: read as "
        "missing (and in 299 more rows)",
        "note: rows.jsonl: nothing reads score (300 rows)",
    )


def test_swt_benchs_own_names_of_patches(tmp_path: Path) -> None:
    own = {name: value for name, value in ROW.items() if "patch" not in name}
    patches = {"golden_code_patch": ROW["patch"], "golden_test_patch": ROW["test_patch"]}
    result = read(tmp_path, own | patches | {"hits": [1]})
    assert result.problems == ()
    assert (result.instances[0].patch, result.instances[0].test_patch) == (ROW["patch"], ROW["test_patch"])
    assert result.notes == ("rows.jsonl: nothing reads hits (1 row)",)
    same = read(tmp_path, ROW | patches)
    assert (len(same.instances), same.problems) == (1, ())
    swapped = read(tmp_path, ROW | {"golden_code_patch": ROW["test_patch"]})
    assert swapped.instances == ()
    assert [problem.what for problem in swapped.problems] == ["patch and golden_code_patch differ: not taken"]


def test_ids_of_another_form_are_named_once(tmp_path: Path) -> None:
    pro = ROW | {"instance_id": f"instance_acme__widget-{SHA}", "repo_language": "python", "interface": "i"}
    lines = read(tmp_path, pro, pro | {"instance_id": f"instance_acme__widget-{SHA}-v2"}).lines("rows.jsonl")
    assert len(lines) == 2
    assert "is not of the form owner__name-number: not taken (and in 1 more row)" in lines[0]
    assert lines[1] == "note: rows.jsonl: nothing reads interface (2 rows), repo_language (2 rows)"


def page(*rows: dict[str, Any], cut: tuple[str, ...] = ()) -> dict[str, Any]:
    cells = [{"row_idx": n, "row": row, "truncated_cells": list(cut)} for n, row in enumerate(rows)]
    return {"features": [], "rows": cells, "num_rows_total": len(rows)}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_page_of_the_rows_api(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "page.json"
    file.write_text(json.dumps(page(ROW, ROW | {"instance_id": "acme__widget-2"}), indent=indent))
    result = import_instances(file, snapshot="s")
    assert [row.instance_id for row in result.instances] == ["acme__widget-1", "acme__widget-2"]
    assert result.problems == ()


def test_cells_that_the_rows_api_cut_short_are_named(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    file.write_text(json.dumps(page(ROW, cut=("patch",))))
    result = import_instances(file, snapshot="s")
    assert result.instances == ()
    (problem,) = result.problems
    assert problem.what.startswith("the rows API cut patch short")


def test_a_single_row(tmp_path: Path) -> None:
    for indent in (None, 2):
        file = tmp_path / "row.json"
        file.write_text(json.dumps(ROW, indent=indent))
        assert [one.instance_id for one in import_instances(file, snapshot="s").instances] == ["acme__widget-1"]


@pytest.mark.skipif(not INPUTS.is_dir(), reason="../shared/inputs is not here")
@pytest.mark.parametrize(
    ("name", "taken"),
    [
        *[(f"fail-{name}", 1) for name in ("f2p-lower-case.jsonl", "f2p-python-list.jsonl", "hf-rows-api.json")],
        ("fail-swtbench-own-fields.jsonl", 1),
        ("fail-swe-pro.jsonl", 0),
    ],
)
def test_inputs_that_failed(name: str, taken: int) -> None:
    result = import_instances(INPUTS / name, snapshot="s")
    assert len(result.instances) == taken
    if "f2p" in name:
        assert result.instances[0].FAIL_TO_PASS == ("tests/test_core.py::test_add",)
    if not taken:
        assert "instance_id" in result.lines(name)[0]
        assert "fail_to_pass" not in result.notes[0], "it is read"
