"""Closing keywords: text → issues, case by case."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.scrape.keywords import Mention, closing_mentions, visible

CASES = tomllib.loads((Path(__file__).parent / "cases" / "closing_mentions.toml").read_text())["case"]


def written(mention: Mention) -> str:
    return f"{'!' if mention.is_pull_request else ''}{mention.repo or ''}#{mention.number}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    assert [written(mention) for mention in closing_mentions(case["text"])] == case["closes"]


@given(st.text(), st.integers(1, 10**6))
def test_what_stands_in_a_comment_is_not_seen(text: str, number: int) -> None:
    hidden = f"<!-- fixes #{number} {text.replace('-->', '')}"
    assert closing_mentions(hidden) == ()


@given(st.text())
def test_hiding_twice_changes_nothing_for_text_without_marks(text: str) -> None:
    plain = text.replace("`", "").replace("~", "").replace("<", "")
    assert visible(plain) == plain


@pytest.mark.parametrize("piece", ["`", "`` ", "<!-", "fixes #1, ", "```\n", "[", "closes a/", "fix: ", "[#1]("])
def test_long_texts_take_no_long_time(piece: str) -> None:
    started = time.process_time()
    closing_mentions("#1 " + piece * 5_000)
    assert time.process_time() - started < 2.0
