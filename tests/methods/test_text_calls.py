"""Calls of tools that are written as text: what is one, and with which arguments."""

from __future__ import annotations

import json

import pytest

from tasks.methods.replies.text_calls import calls_in, signatures
from tasks.methods.tools import tool_spec

SPECS = (
    tool_spec("search_method", "A method.", ["method_name"], method_name="Its name.", class_name="Only there."),
    tool_spec("read_file", "A file.", ["path"], path="From the root.", start_line="First line."),
)


def test_tools_are_told_as_signatures() -> None:
    assert signatures(SPECS) == [
        "search_method(method_name, class_name=…): A method.",
        "read_file(path, start_line=…): A file.",
    ]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('```search\nsearch_method("a")\n```', [("search_method", {"method_name": "a"})]),
        ("search_method('a', 'B')", [("search_method", {"method_name": "a", "class_name": "B"})]),
        ("- `read_file(path='a.py', start_line=10)`", [("read_file", {"path": "a.py", "start_line": 10})]),
        ("search_method(scaled)\nthen read_file('x') as well", [("search_method", {"method_name": "scaled"})]),
        ("```search\nrun_shell('ls')\n```", [("run_shell", None)]),
        ("run_shell('ls')", []),
        ("It is `search_method`, see read_file.", []),
        ("read_file('a', 1, 2)", [("read_file", None)]),
        ("read_file(open('a'))", [("read_file", None)]),
        ("read_file('a)", [("read_file", None)]),
        ("read_file(" + "(" * 500 + ")", [("read_file", None)]),
        ("read_file('" + "a" * 5_000 + "')", []),
        ("", []),
    ],
)
def test_calls_of_a_reply(reply: str, expected: list[tuple[str, object]]) -> None:
    found = calls_in(reply, SPECS)
    assert [(call.name, call.parsed()) for call in found] == expected
    assert all(call.parsed() is not None or not is_json(call.arguments) for call in found)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
