"""Numbers of thousands of digits in what strangers write: Python's `int` refuses them, and so ends whoever asks."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import NoHistory

from tasks.domain.errors import UsageError
from tasks.domain.names import parse_instance_id
from tasks.domain.window import since_when
from tasks.environment.project_files.pythons import Interpreter, allows
from tasks.environment.project_files.versions import numbers
from tasks.localize.replies import parse_action
from tasks.methods.conversation import Unusable
from tasks.methods.redaction import IssueText, fixed_by, pull_numbers, pull_urls
from tasks.report.code import patch_lines
from tasks.scrape.keywords import closing_mentions

MANY = "9" * 5_000


@pytest.mark.parametrize(
    "reference",
    [
        f"#{MANY}",
        f"GH-{MANY}",
        f"a/b#{MANY}",
        f"https://github.com/a/b/issues/{MANY}",
        f"[it](https://github.com/a/b/pull/{MANY})",
    ],
)
def test_nobody_closes_such_an_issue(reference: str) -> None:
    assert closing_mentions(f"fixes {reference}") == ()
    assert [mention.number for mention in closing_mentions(f"fixes {reference}, fixes #12")] == [12]


@pytest.mark.parametrize(
    "text",
    [f"see #{MANY}", f"see PR {MANY}", f"fixed by #{MANY}", f"https://github.com/o/r/pull/{MANY}", f"a/r#{MANY}"],
)
def test_no_pull_request_has_it(text: str) -> None:
    source = IssueText(text=f"{text} or #7", name="r", number=7, history=NoHistory())
    found = [place for rule in (fixed_by, pull_urls, pull_numbers) for place in rule(source)]
    assert [source.text[place.start : place.end] for place in found] == ["#7"]


def test_a_page_shows_it() -> None:
    assert [line.kind for line in patch_lines(f"+++ b/x\n@@ -{MANY} +{MANY} @@\n-a\n+b\n")]


def test_it_is_no_instance_no_window_no_version() -> None:
    with pytest.raises(ValueError, match="is not an instance id"):
        parse_instance_id(f"a__b-{MANY}")
    with pytest.raises(UsageError, match="is no window"):
        since_when(f"{MANY} months", datetime.now(UTC))
    assert numbers(f"1.{MANY}")[0] == 1
    assert allows(f">={MANY}", Interpreter(path=Path("python"), version="3.11.7", base_prefix=Path("/")))


def test_no_model_is_so_sure() -> None:
    with pytest.raises(Unusable):
        parse_action(f'{{"ranked_files": ["a.py"], "confidence_scores": ["001{MANY}"]}}')
