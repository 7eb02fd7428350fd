"""Case files `cases/NAME.jsonl` beside `NAME.expected.json`; the forms of file that are not text are made here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from domain_rows import task_instance

from tasks.adapters.input_files.reader import read_rows
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, RepoName, Sha
from tasks.evaluate.intake.controls import golden_candidate, nop_candidate
from tasks.evaluate.intake.predictions import Predictions, predictions_of, read_predictions

CASES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def instance(number: int) -> TaskInstance:
    repo, base = RepoName("acme/box"), Sha("1" * 40)
    return task_instance(
        repo=repo,
        instance_id=InstanceId(f"acme__box-{number}"),
        base_commit=base,
        patch=f"fix {number}",
        test_patch=f"tests {number}",
        instance_key=TaskInstance.key_of(repo, base, f"fix {number}", f"tests {number}"),
    )


INSTANCES = (instance(1), instance(2))


def read(path: Path) -> Predictions:
    return read_predictions(path, INSTANCES, created_at=NOW)


def brief(candidates: Iterable[Candidate]) -> list[tuple[str, str]]:
    return [(candidate.instance_id, candidate.patch) for candidate in candidates]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text().replace("{file}", path.name))
    result = read(path)
    for candidate, (*facts, problem) in zip(result.candidates, expected["candidates"], strict=True):
        assert [candidate.instance_id, candidate.method, candidate.sample, candidate.patch] == facts
        assert problem in candidate.problem
        assert bool(problem) == bool(candidate.problem)
    for found, (line, name, words) in zip(result.problems, expected["problems"], strict=True):
        assert (found.line, found.instance_id) == (line, name)
        assert words in found.what


def test_candidate_says_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "preds.jsonl"
    path.write_text('\n{"instance_id": "acme__box-2", "model_name_or_path": "m", "model_patch": "d"}\n')
    (candidate,) = read(path).candidates
    assert (candidate.source, candidate.provenance, candidate.created_at) == ("preds.jsonl:2", "self_reported", NOW)
    assert (candidate.snapshot, candidate.instance_key) == ("s", INSTANCES[1].instance_key)
    assert candidate.candidate_id == Candidate.id_of(INSTANCES[1].instance_key, "m", None, 0, "d")


def test_a_row_may_say_its_model_and_its_day() -> None:
    """Contamination and cost go by the model; without a word, there is none."""
    first, *_ = read(next(path for path in CASES if path.stem == "samples")).candidates
    assert (first.model, first.made_at) == ("gpt", datetime(2026, 1, 1, tzinfo=UTC))
    assert first.candidate_id == Candidate.id_of(INSTANCES[0].instance_key, "m", "gpt", 1, "one")
    plain, *_ = read(next(path for path in CASES if path.stem == "plain")).candidates
    assert (plain.model, plain.made_at) == (None, None)


def test_every_candidate_has_its_own_id() -> None:
    duplicates = read(next(path for path in CASES if path.stem == "duplicates")).candidates
    assert len({candidate.candidate_id for candidate in duplicates}) == len(duplicates)


def test_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    line = b'{"instance_id": "acme__box-1", "model_name_or_path": "m", "model_patch": "a\\r\\nb"}\r\n'
    path = tmp_path / "preds.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line.replace(b"box-1", b"box-2"))
    result = read(path)
    assert brief(result.candidates) == [("acme__box-1", "a\r\nb"), ("acme__box-2", "a\r\nb")]
    assert result.problems == ()


def test_latin_1_is_kept_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "preds.jsonl"
    path.write_bytes(
        b'{"instance_id": "acme__box-1", "model_name_or_path": "m", "model_patch": "+caf\xe9 \xc3\xa9"}\n'
        b'{"instance_id": "acme__box-2", "model_name_or_path": "m", "model_patch": "+half \\ud83d \\udce9"}\n'
    )
    first, second = read(path).candidates
    assert first.patch.encode("utf-8", "surrogateescape") == b"+caf\xe9 \xc3\xa9"
    assert second.patch.encode("utf-8", "surrogateescape") == b"+half \xed\xa0\xbd \xe9"


def test_long_line_is_a_problem_and_the_next_ones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "preds.jsonl"
    row = {"instance_id": "acme__box-1", "model_name_or_path": "m", "model_patch": "x" * 5_000_000}
    path.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'model_patch': 'short'})}\n")
    rows = read_rows(path, max_row_bytes=1000)
    result = predictions_of(rows, INSTANCES, source="preds.jsonl", created_at=NOW)
    assert brief(result.candidates) == [("acme__box-1", "short")]
    assert [(problem.line, problem.what) for problem in result.problems] == [(1, "the line is longer than 1,000 bytes")]


ROWS: list[dict[str, str | None]] = [
    {"instance_id": "acme__box-1", "model_name_or_path": "m", "model_patch": "one"},
    {"instance_id": "acme__box-2", "model_name_or_path": "m", "model_patch": None},
]
PATCHES = [("acme__box-1", "one"), ("acme__box-2", "")]


@pytest.mark.parametrize("indent", [None, 2])
def test_list_and_object_by_id(tmp_path: Path, indent: int | None) -> None:
    (tmp_path / "list.json").write_text(json.dumps(ROWS, indent=indent))
    bare = {row["instance_id"]: {"model_name_or_path": "m", "model_patch": row["model_patch"]} for row in ROWS}
    (tmp_path / "bare.json").write_text(json.dumps(bare, indent=indent))
    (tmp_path / "full.json").write_text(json.dumps({row["instance_id"]: row for row in ROWS}, indent=indent))
    for name in ("list", "bare", "full"):
        result = read(tmp_path / f"{name}.json")
        assert (brief(result.candidates), result.problems) == (PATCHES, ())


def test_key_and_row_that_disagree(tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text(json.dumps({"acme__box-2": ROWS[0], "acme__box-1": "a diff"}, indent=1))
    result = read(path)
    assert result.candidates == ()
    assert [(problem.line, problem.what) for problem in result.problems] == [
        (2, "instance_id is 'acme__box-1', but the row stands under 'acme__box-2'"),
        (7, "the row is text and not an object"),
    ]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "preds.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    result = read(path)
    assert (brief(result.candidates), result.problems) == (PATCHES, ())
    assert [candidate.source for candidate in result.candidates] == ["preds.parquet:1", "preds.parquet:2"]


def test_a_name_for_the_method_of_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "preds.jsonl"
    rows = [{"instance_id": "acme__box-1", "model_patch": "d"}, {**ROWS[1], "model_name_or_path": "theirs"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_predictions(path, INSTANCES, created_at=NOW, method="mine").candidates
    assert [candidate.method for candidate in found] == ["mine", "mine"]


def test_controls() -> None:
    golden = golden_candidate(INSTANCES[0], created_at=NOW)
    nop = nop_candidate(INSTANCES[0], created_at=NOW)
    assert (golden.method, golden.patch, golden.provenance) == ("golden", "tests 1", "oracle")
    assert (nop.method, nop.patch, nop.provenance) == ("nop", "", "oracle")
    assert golden.candidate_id != nop.candidate_id
