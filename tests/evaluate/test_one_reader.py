"""`swt submit check` and `swt evaluate` take the same rows of any file, and say the same of the others."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from domain_rows import task_instance
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.llm.catalogue.models import Models
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput, SwtError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, RepoName, Sha, SnapshotName
from tasks.domain.outcome import Policy
from tasks.domain.places import Places
from tasks.evaluate.intake.file_check import check_submission
from tasks.evaluate.intake.load import take_candidates

REPO, BASE = RepoName("acme/box"), Sha("1" * 40)
INSTANCES = tuple(
    replace(
        task_instance(
            repo=REPO,
            instance_id=InstanceId(f"acme__box-{number}"),
            base_commit=BASE,
            patch=f"fix {number}",
            test_patch=f"tests {number}",
            instance_key=TaskInstance.key_of(REPO, BASE, f"fix {number}", f"tests {number}"),
        ),
        snapshot=SnapshotName("s"),
    )
    for number in (1, 2, 3)
)
GOOD = {"instance_id": "acme__box-1", "model_name_or_path": "m", "model_patch": "--- a\n"}
NOTHING = Models({})


def checked(store: Store, file: Path) -> tuple[list[str], int]:
    """The problems that `swt submit check` names, and how many predictions it takes; a refusal in words."""
    try:
        text, clean = check_submission(store, NOTHING, file, "s")
    except SwtError as error:
        return [f"{type(error).__name__} {error}"], 0
    *lines, summary = text.split("\n")
    problems = [line for line in lines if line.startswith(file.name)]
    assert clean == (not problems)
    return problems, int(summary.partition(" ")[0])


def evaluated(store: Store, folder: Path, file: Path) -> tuple[list[str], int]:
    """The same of `swt evaluate`, which stores what it takes."""
    places = Places(store=str(folder / "store"), cache=folder / "cache", recipes=folder, scratch=folder / "scratch")
    try:
        taken = take_candidates(places, (str(file),), INSTANCES, Policy.TESTS_ONLY, references=False)
    except SwtError as error:
        return [f"{type(error).__name__} {error}"], 0
    stored = store.read(Candidate)
    return [problem for problem in taken.problems if problem.startswith(file.name)], len(stored)


def both(content: bytes, name: str = "preds.jsonl") -> tuple[list[str], int]:
    """What both say of a file; they have to agree."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store = Store(str(folder / "store"))
        store.write(list(INSTANCES))
        file = folder / name
        file.write_bytes(content)
        said, taken = checked(store, file)
        assert (said, taken) == evaluated(store, folder, file)
        return said, taken


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


NAMES = st.sampled_from(["acme__box-1", "acme__box-2", "acme__box-9", "", "m", "golden", "nop", "gоlden", "é\udce9"])
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**30, -1, 2**31, 2**31 - 1, 0.5, 1.0, float("nan"), float("inf"), 1e300]),
    st.text(max_size=8),
    st.sampled_from(["2026-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "a\0b", "x" * 300, ".."]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["git_patch", "x"]), st.one_of(st.none(), st.text(max_size=3)), max_size=2),
)
KEYS = (
    *("instance_id", "model_name_or_path", "method", "model_patch", "prediction", "patch", "model", "sample", "date"),
    *("cost_usd", "seconds", "tokens_in", "tokens_out", "calls", "trajectory", "test_result", "note", "résumé\n"),
)
ROWS = st.builds(
    lambda good, odd, name: {**(GOOD if good else {}), **odd, **({"instance_id": name} if name else {})},
    st.booleans(),
    st.dictionaries(st.sampled_from(KEYS), ODD | NAMES, max_size=6),
    NAMES,
)


@pytest.mark.slow
@given(st.lists(ROWS, max_size=4))
def test_random_rows_are_taken_alike(rows: list[dict[str, Any]]) -> None:
    both(lines(*rows))


@pytest.mark.slow
@given(st.lists(ROWS, max_size=3), st.binary(max_size=12), st.integers(0, 400))
def test_torn_files_are_taken_alike(rows: list[dict[str, Any]], junk: bytes, at: int) -> None:
    whole = lines(*rows)
    both(whole[:at] + junk + whole[at:])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"sample": 10**30},
            "000000, and not a whole number from 0 to 2,147,483,647",
        ),
        ({"sample": 2**31}, "sample is 2147483648, and not a whole number"),
        ({"model_name_or_path": "m\udce9"}, "which is not UTF-8"),
        ({"model": "m\udce9"}, "model is 'm\\udce9', which is not UTF-8"),
        ({"date": "0001-01-01T00:00:00+14:00"}, "is not a moment in UTC"),
    ],
)
def test_a_row_that_is_refused_by_both(row: dict[str, Any], said: str) -> None:
    (problem,), taken = both(lines(GOOD | row))
    assert said in problem
    assert taken == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, "12", True, [1]])
def test_a_cost_that_is_no_amount_is_a_problem_and_its_row_is_taken(value: object) -> None:
    (problem,), taken = both(lines(GOOD | {"cost_usd": value}))
    assert "cost_usd is " in problem
    assert problem.endswith("read as missing")
    assert taken == 1


def test_an_empty_file_is_a_problem_for_both() -> None:
    for content in (b"", b"\n\n", b"[]"):
        assert both(content) == (["preds.jsonl:1: ?: the file holds no row"], 0)


def test_a_controls_name_is_refused_by_both() -> None:
    (refusal,), _ = both(lines(GOOD | {"model_name_or_path": "golden"}))
    assert "which is a control's name" in refusal


def test_what_the_store_has_of_another_file_is_refused_by_both(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    store.write(list(INSTANCES))
    for name, patch in (("one", "--- a\n"), ("two", "--- b\n")):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(GOOD | {"model_patch": patch}))
    evaluated(store, tmp_path, tmp_path / "one.jsonl")
    (refusal,), _ = checked(store, tmp_path / "two.jsonl")
    assert "one.jsonl has 1 other patches" in refusal
    assert [refusal] == evaluated(store, tmp_path, tmp_path / "two.jsonl")[0]


def test_keys_that_nothing_reads_are_one_note(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    store.write(list(INSTANCES))
    file = tmp_path / "preds.jsonl"
    rows = [GOOD | {"sample": n, "raw_model_patch": "x", **({"other": 1} if n else {})} for n in range(300)]
    file.write_bytes(lines(*rows))
    text, clean = check_submission(store, NOTHING, file, "s")
    assert clean, text
    (note,) = [line for line in text.splitlines() if line.startswith("note: ")]
    assert note == "note: preds.jsonl: nothing reads other (299 rows), raw_model_patch (300 rows)"
    file.write_bytes(lines(GOOD | {f"key{n:02}": 1 for n in range(25)} | {"a\x1bb": 1}))
    text, _ = check_submission(store, NOTHING, file, "s")
    assert "\x1b" not in text
    assert "key18 (1 row), 6 more keys" in text


def test_a_model_without_a_card_is_a_note(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    store.write(list(INSTANCES))
    file = tmp_path / "preds.jsonl"
    file.write_bytes(lines(GOOD | {"model": "nobody-1"}))
    text, clean = check_submission(store, NOTHING, file, "s")
    assert clean
    assert "note: preds.jsonl: model nobody-1 has no card" in text


def test_published_layouts_are_read() -> None:
    one = json.dumps(GOOD, indent=1).encode()
    assert both(one, "one.json") == ([], 1)
    assert both(json.dumps(GOOD).encode(), "one.json") == ([], 1)
    assert both(lines(GOOD | {"model_patch": float("nan")})) == ([], 1)
    openhands = {"instance_id": "acme__box-1", "test_result": {"git_patch": "--- a\n"}, "history": []}
    assert both(lines(openhands), "output.jsonl") == ([], 1)
    assert both(lines(openhands | {"test_result": {"git_patch": None}}), "output.jsonl") == ([], 1)
    (problem,), taken = both(lines(openhands | {"test_result": {"git_patch": 3}}), "output.jsonl")
    assert "git_patch is a number and not text" in problem
    assert taken == 0
    (problem,), _ = both(lines({"instance_id": "acme__box-1", "test_result": {}}))
    assert "model_name_or_path is missing" in problem


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    store.write(list(INSTANCES))
    with pytest.raises(SwtError, match="there is no file"):
        check_submission(store, NOTHING, tmp_path / "none.jsonl", "s")
    (tmp_path / "packed.jsonl").write_bytes(b"\x1f\x8b rest")
    with pytest.raises(BadInput, match="compressed"):
        check_submission(store, NOTHING, tmp_path / "packed.jsonl", "s")
