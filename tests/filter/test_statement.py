"""Statement and hints as they stood before the fix was begun."""

from __future__ import annotations

import pytest
from small_history import day, issue_row

from tasks.filter.statement import statement_before

EDITED = {"edited_at": day(8), "edit_times": (day(1), day(3), day(8)), "edit_texts": ("first", "second", "third")}


def test_an_issue_that_nobody_edited() -> None:
    statement = statement_before([issue_row(title="T", body="b\n")], day(4))
    assert (statement.text, statement.mode) == ("T\nb", "unedited")


def test_an_edit_before_the_fix_stays() -> None:
    issue = issue_row(title="T", body="now", edited_at=day(3), edit_times=(day(3),), edit_texts=("now",))
    assert statement_before([issue], day(4)).text == "T\nnow"


@pytest.mark.parametrize(("begun", "body"), [(2, "first"), (4, "second"), (7, "second")])
def test_a_later_edit_is_taken_back(begun: int, body: str) -> None:
    statement = statement_before([issue_row(title="T", body="third", **EDITED)], day(begun))
    assert (statement.text, statement.mode) == (f"T\n{body}", "restored")


def test_a_later_edit_without_its_history_is_said() -> None:
    for missing in ({"edits_complete": False}, {"edit_times": (), "edit_texts": ()}):
        statement = statement_before([issue_row(title="T", body="third", **(EDITED | missing))], day(4))
        assert (statement.text, statement.mode) == ("T\nthird", "as_fetched")


def test_a_later_title_is_taken_back() -> None:
    issue = issue_row(title="third", body="b", rename_times=(day(2), day(6)), rename_titles=("first", "second"))
    statement = statement_before([issue], day(4))
    assert (statement.text, statement.mode) == ("second\nb", "restored")


def test_an_issue_opened_after_the_first_commit_counts_as_it_was_opened() -> None:
    edits = {"edited_at": day(5), "edit_times": (day(3), day(5)), "edit_texts": ("first", "second")}
    statement = statement_before([issue_row(title="T", body="second", created_at=day(3), **edits)], day(2))
    assert (statement.text, statement.mode) == ("T\nfirst", "restored")


def test_comments_written_or_edited_later_are_left_out() -> None:
    issue = issue_row(
        comment_authors=("", "x", "y", "z"),
        comment_times=(day(2), day(2), day(3), day(6)),
        comment_touched=(day(2), day(5), day(3), day(6)),
        comment_texts=("one", "edited later", "  ", "later"),
    )
    assert statement_before([issue], day(4)).hints == "one"


def test_several_issues_are_one_statement_with_the_weakest_mode() -> None:
    issues = [issue_row(title="A", body="a"), issue_row(91, title="B", body="third", **EDITED)]
    statement = statement_before(issues, day(4))
    assert (statement.text, statement.mode) == ("A\na\n\nB\nsecond", "restored")
