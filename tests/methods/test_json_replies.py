"""JSON out of what models write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adapters.llm.base import user
from tasks.methods.json_replies import ask_for_json, first_json, json_values
from tasks.rehearsal.scripted_model import Scripted

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('Sure!\n```json\n{"a": {"b": [1]}}\n```\nand [2]', [{"a": {"b": [1]}}, [2]]),
        ("f(x) = {x} and {'a': 1}", []),
        ('{broken {"a": "}"} tail', [{"a": "}"}]),
        ('{"a": 1', []),
        ("", []),
        ("[" * 100_000, []),
    ],
)
def test_values_in_a_text(text: str, values: list[Any]) -> None:
    assert list(json_values(text)) == values


@settings(max_examples=40)
@given(value=st.dictionaries(st.text(), VALUES), before=st.text(st.sampled_from("abc \n`")), after=st.text())
def test_whatever_stands_around_it(value: dict[str, Any], before: str, after: str) -> None:
    assert next(json_values(before + json.dumps(value) + after)) == value


def files(value: Any) -> list[str]:
    if not isinstance(value, dict) or not isinstance(value.get("files"), list):
        raise ValueError("there is no list `files`")
    return [str(name) for name in value["files"]]


def test_the_first_that_is_right_counts() -> None:
    assert first_json('{"thought": 1} {"files": ["a.py"]}', files) == ["a.py"]
    with pytest.raises(ValueError, match="no list `files`"):
        first_json('{"thought": 1}', files)
    with pytest.raises(ValueError, match="no JSON"):
        first_json("no", files)


def test_it_is_asked_for_again() -> None:
    model = Scripted(["hm", '{"file": 1}', '{"files": ["a.py"]}'])
    got = ask_for_json(model, [user("which?")], files, again=lambda why: f"Not so: {why}.")
    assert (got.value, len(got.replies)) == (["a.py"], 3)
    assert got.complaints == ("the reply holds no JSON", "there is no list `files`")
    assert [message.text for message in model.asked[2].messages] == [
        "which?",
        "hm",
        "Not so: the reply holds no JSON.",
        '{"file": 1}',
        "Not so: there is no list `files`.",
    ]


def test_it_is_not_asked_for_for_ever() -> None:
    got = ask_for_json(Scripted(["a", "b"]), [user("?")], files, again=str, tries=2)
    assert (got.value, len(got.replies), len(got.complaints)) == (None, 2, 2)
