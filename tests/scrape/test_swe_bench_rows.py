"""Case files `cases/NAME.jsonl` beside `NAME.expected.json`: the ids taken, and (line, id, words) of every problem."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.adapters.input_files.raw import RawRow
from tasks.domain.instance import TaskInstance
from tasks.scrape.dataset_rows import ImportResult, import_instances, instances_of, snapshot_of

CASES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
ROW = {
    "repo": "acme/box",
    "instance_id": "acme__box-1",
    "base_commit": "1" * 40,
    "patch": "-a\n+b\n",
    "test_patch": "-c\r\n+d\r\n",
    "problem_statement": "It breaks.",
}


def read(**columns: object) -> ImportResult:
    return instances_of([RawRow(1, {**ROW, **columns})], snapshot="s", source="rows.jsonl")


def only(**columns: object) -> TaskInstance:
    result = read(**columns)
    assert result.problems == ()
    (instance,) = result.instances
    return instance


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_takes_what_it_can_and_names_the_rest(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    result = import_instances(path, snapshot="s")
    assert [instance.instance_id for instance in result.instances] == expected["taken"]
    assert len(result.problems) == len(expected["problems"])
    for problem, (line, name, words) in zip(result.problems, expected["problems"], strict=True):
        assert (problem.line, problem.instance_id) == (line, name)
        assert words in problem.what


def test_row_keeps_every_character() -> None:
    instance = only(hints_text="x", version="2.1", environment_setup_commit="2" * 40)
    assert instance.test_patch == "-c\r\n+d\r\n"
    assert (instance.hints_text, instance.version, instance.environment_setup_commit) == ("x", "2.1", "2" * 40)
    assert (instance.snapshot, instance.source) == ("s", "rows.jsonl")
    assert instance.instance_key == TaskInstance.key_of("acme/box", "1" * 40, "-a\n+b\n", "-c\r\n+d\r\n")


def test_row_without_optional_columns() -> None:
    instance = only()
    assert (instance.version, instance.created_at, instance.environment_setup_commit) == (None, None, None)
    assert (instance.FAIL_TO_PASS, instance.PASS_TO_PASS, instance.hints_text) == (None, None, "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b"], ("a", "b")),
        ('["a [x, y]", "b"]', ("a [x, y]", "b")),
        ("[]", ()),
        ([], ()),
        ("", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_lists_of_cases(value: object, expected: tuple[str, ...] | None) -> None:
    assert expected == only(FAIL_TO_PASS=value).FAIL_TO_PASS


MOMENT = datetime(2022, 3, 3, 15, 14, 54, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2022-03-03T15:14:54Z", MOMENT),
        ("2022-03-03 15:14:54", MOMENT),
        ("2022-03-03T17:14:54+02:00", MOMENT),
        ("2022-03-03T15:14:54.000000", MOMENT),
        ("20220303T151454Z", MOMENT),
        ("2022-03-03", datetime(2022, 3, 3, tzinfo=UTC)),
        (1646320494, MOMENT),
        (1646320494000, MOMENT),
        (MOMENT, MOMENT),
        (MOMENT.replace(tzinfo=None), MOMENT),
        ("", None),
        ("  ", None),
        (None, None),
    ],
)
def test_moments(value: object, expected: datetime | None) -> None:
    assert only(created_at=value).created_at == expected


@pytest.mark.parametrize(("value", "expected"), [("3.0", "3.0"), (3.1, "3.1"), (4, "4"), ("", None), (None, None)])
def test_versions(value: object, expected: str | None) -> None:
    assert only(version=value).version == expected


def test_blank_statement_is_kept_with_a_word() -> None:
    result = read(problem_statement="")
    assert [instance.problem_statement for instance in result.instances] == [""]
    assert [problem.what for problem in result.problems] == ["problem_statement is empty: read as missing"]


def test_json_list_and_columns_and_parquet_say_the_same(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {**ROW, "instance_id": f"acme__box-{n}", "FAIL_TO_PASS": ["t::a"], "created_at": "2022-03-03"} for n in (1, 2)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    by_position = {name: {str(n): cell for n, cell in enumerate(cells)} for name, cells in columns.items()}
    by_id = {row["instance_id"]: {name: row[name] for name in row if name != "instance_id"} for row in rows}
    for number, value in enumerate((rows, columns, by_position, by_id)):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "rows.json").write_text(json.dumps(value, indent=number))
    (tmp_path / "4").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "4" / "rows.json")
    results = [import_instances(tmp_path / str(n) / "rows.json", snapshot="s") for n in range(5)]
    assert [len(result.instances) for result in results] == [2] * 5
    assert all(result == results[0] for result in results)
    assert results[0].problems == ()


def test_snapshot_does_not_depend_on_the_order() -> None:
    one, two = only(), only(instance_id="acme__box-2", patch="-x\n+y\n")
    first = snapshot_of([one, two], snapshot="s", source="f", created_at=MOMENT)
    assert first == snapshot_of([two, one], snapshot="s", source="f", created_at=MOMENT)
    assert first.instances == 2
    assert first.content != snapshot_of([one], snapshot="s", source="f", created_at=MOMENT).content
