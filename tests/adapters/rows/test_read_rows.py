"""Which form a file has, and what is left of a broken one."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.input_files.raw import text_of
from tasks.adapters.input_files.reader import read_rows
from tasks.domain.errors import BadInput, NotFound


def rows(path: Path, content: str | bytes) -> list[tuple[int, dict[str, object], str]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(row.line, dict(row.values), row.problem.split(":")[0]) for row in read_rows(path)]


CUT = "the file is not JSON from here on, or cut short"
CUT_LINE = "the line is not JSON, or cut short"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", "", []),
        ("a.json", "\n\n", []),
        ("a.json", "[]", []),
        ("a.json", "{}", []),
        ("a.jsonl", '{"a": 1}\n\n{"a": 2}', [(1, {"a": 1}, ""), (3, {"a": 2}, "")]),
        ("a.json", '{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}, ""), (2, {"a": 2}, "")]),
        ("a.json", '{"instance_id": "x"}\n', [(1, {"instance_id": "x"}, "")]),
        ("a.json", '{"a": \n{"a": 2}\n', [(1, {}, CUT_LINE), (2, {"a": 2}, "")]),
        ("a.jsonl", '{"a": \n', [(1, {}, CUT_LINE)]),
        ("a.jsonl", '[\n {"a": 1},\n {"a": 2}\n]\n', [(2, {"a": 1}, ""), (3, {"a": 2}, "")]),
        (
            "a.json",
            '[{"a": 1}, 7, {"a": 2}]',
            [(1, {"a": 1}, ""), (1, {}, "the row is a number and not an object"), (1, {"a": 2}, "")],
        ),
        ("a.json", '[\n{"a": 1},\n{"a"', [(2, {"a": 1}, ""), (3, {}, CUT)]),
        ("a.json", '[\n{"a": 1}\n{"a": 2}]', [(2, {"a": 1}, ""), (3, {}, CUT)]),
        ("a.json", '{\n"x": {"a": 1},\n"y', [(2, {"a": 1}, ""), (3, {}, CUT)]),
        ("a.json", '{\n"x" 1', [(2, {}, CUT)]),
        ("a.json", '{"a": [1, 2], "b": [3]}', [(1, {"a": 1, "b": 3}, ""), (2, {"a": 2}, "")]),
        ("a.json", '{"a": {"5": 1, "9": 2}}', [(1, {"a": 1}, ""), (2, {"a": 2}, "")]),
        ("a.txt", "hello\n", [(1, {}, CUT_LINE)]),
        ("a.json", b'\xef\xbb\xbf[{"a": "\xe9"}]', [(1, {"a": "\udce9"}, "")]),
        ("a.jsonl", '{"a": "\u2028"}\r\n', [(1, {"a": "\u2028"}, "")]),
    ],
)
def test_forms(tmp_path: Path, name: str, content: str | bytes, expected: list[object]) -> None:
    assert rows(tmp_path / name, content) == expected


def test_limit_holds_for_rows_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"a": "x" * 100}, {"a": "y"}]))
    assert [row.problem for row in read_rows(path, max_row_bytes=50)] == ["the row is longer than 50 bytes", ""]


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08\x00", b"PK\x03\x04", '{"a": 1}'.encode("utf-16")])
def test_foreign_files_are_named(tmp_path: Path, magic: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(magic)
    with pytest.raises(BadInput, match=r"gzip|zip archive|UTF-16"):
        read_rows(tmp_path / "a.jsonl")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_rows(tmp_path / "a.jsonl")


def test_torn_parquet_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x"] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match="cannot be read at all"):
        list(read_rows(path))


def test_parquet_text_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    text = _unchecked(b"caf\xe9", b"x")
    pq.write_table(pa.table({"a": text, "n": [1, 2]}), path)
    assert [(text_of(row.values["a"]), row.values["n"]) for row in read_rows(path)] == [("caf\udce9", 1), ("x", 2)]


def _unchecked(*cells: bytes) -> pa.Array:
    binary = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())


@given(st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers() | st.none()), max_size=4))
def test_json_text_round_trips(tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, object]]) -> None:
    folder = tmp_path_factory.getbasetemp() / "round-trips"  # one for all: making a numbered one looks at all others
    folder.mkdir(exist_ok=True)
    (folder / "list.json").write_text(json.dumps(values, indent=1))
    (folder / "lines.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values) + "\n{}\n")
    assert [dict(row.values) for row in read_rows(folder / "list.json")] == values
    assert [dict(row.values) for row in read_rows(folder / "lines.jsonl")] == [*values, {}]


@given(st.text(st.characters(codec=None, categories=["Cs", "L", "N"])))
def test_text_always_makes_a_key(text: str) -> None:
    assert text_of(text).encode("utf-8", "surrogateescape")[:0] == b""
    assert text_of(text_of(text)) == text_of(text)
