"""JSON out of what models write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.methods.conversation import Unusable
from tasks.methods.replies.json_replies import first_object, json_objects

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('Sure!\n```json\n{"a": {"b": [1]}}\n```\nand {"c": 2}', [{"a": {"b": [1]}}, {"c": 2}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ("f(x) = {x} and {'a': 1} and [2]", []),
        ('{broken {"a": "}"} tail', [{"a": "}"}]),
        ('{"a": 1', []),
        ("", []),
        ('{"a":' * 100_000, []),
    ],
)
def test_objects_in_a_text(text: str, values: list[Any]) -> None:
    assert list(json_objects(text)) == values


@settings(max_examples=40)
@given(value=st.dictionaries(st.text(), VALUES), before=st.text(st.sampled_from("abc \n`[")), after=st.text())
def test_whatever_stands_around_it(value: dict[str, Any], before: str, after: str) -> None:
    assert next(json_objects(before + json.dumps(value) + after)) == value


def files(value: Mapping[str, Any]) -> list[str]:
    if not isinstance(value.get("files"), list):
        raise Unusable("no-files", "there is no list `files`")
    return [str(name) for name in value["files"]]


def test_the_first_that_is_right_counts() -> None:
    assert first_object('{"thought": 1} {"files": ["a.py"]}', files) == ["a.py"]
    with pytest.raises(Unusable, match="no-files: there is no list `files`"):
        first_object('{"thought": 1} {"files": 2}', files)
    with pytest.raises(Unusable, match="no-json"):
        first_object("no", files)
