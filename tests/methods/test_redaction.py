"""Pointers to the fix: which are found, which go, and what is left of the text."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from domain_rows import task_instance

from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId
from tasks.methods.redaction import IssueText, find_pointers, pull_numbers, redacted, redaction_rows

CASES = tomllib.loads((Path(__file__).parent / "cases" / "redactions.toml").read_text())["case"]


class Known:
    """The history that the cases are written for."""

    def holds(self, sha: str) -> bool | None:
        return {"a": True, "b": False}.get(sha[0]) if sha in ("aaaaaa1", "bbbbbb2") else None

    def landed(self, number: int) -> bool:
        return number == 7


def instance(text: str, name: str = "owner__name-500") -> TaskInstance:
    return task_instance(instance_id=InstanceId(name), problem_statement=text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_cases(case: dict[str, Any]) -> None:
    places = find_pointers(instance(case["text"]), Known())
    assert [place.rule for place in places] == case["rules"]
    assert redacted(case["text"], places) == case.get("after", case["text"])


def test_a_text_that_was_redacted_points_nowhere() -> None:
    for case in CASES:
        once = redacted(case["text"], find_pointers(instance(case["text"]), Known()))
        assert not [place for place in find_pointers(instance(once), Known()) if place.removed]


def test_rows_say_where_it_stood() -> None:
    text = "first\nsecond\nsee #500"
    (row,) = redaction_rows(instance(text), find_pointers(instance(text), Known()))
    assert asdict(row) == {
        "snapshot": "s",
        "instance_id": "owner__name-500",
        "instance_key": "k",
        "rule": "pull-number",
        "line": 3,
        "text": "#500",
        "removed": True,
    }


def test_an_instance_of_another_name_has_no_number_to_look_for() -> None:
    assert find_pointers(instance("see #500", name="my-instance"), Known()) == ()


@pytest.mark.parametrize("sign", [".", "-", "a.", "./"])
def test_a_million_signs_of_a_name_are_read_like_any_other(sign: str) -> None:
    """By the square of their number it would be an hour."""
    source = IssueText(text=f"{sign * 1_000_000} done.#7, .a/r#7, a-b/r#7", name="r", number=7, history=Known())
    found = [source.text[place.start : place.end] for place in pull_numbers(source)]
    assert found == ["#7", ".a/r#7", "a-b/r#7"]
