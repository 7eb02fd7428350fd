"""What others wrote does nothing to a terminal or a spreadsheet; numbers are told in words that fit."""

from dataclasses import dataclass
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.text import counted, in_words, printable, printable_log, spreadsheet_cell
from tasks.domain.run import CodeState


@dataclass(frozen=True)
class Came:
    """To what a unit came."""

    made: int
    on: CodeState
    left_out: tuple[str, ...] = ()
    why: str = ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("golden\x1b[2J", "golden\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("over\rwritten", "over\\rwritten"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("right \u202eto left", "right \\u202eto left"),
        ("half \ud800", "half \\ud800"),
        ("two\nlines\tand naïve 漢字 🐍", "two\nlines\tand naïve 漢字 🐍"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_log_is_shown_line_by_line() -> None:
    log = BytesIO(b"\x1b[31mred\r\nover\rwritten\n\xff\xc2\x9b2J\nlast \xe2\x80\xae")
    shown = b"".join(printable_log(log)).decode().split("\n")
    assert shown == ["\\x1b[31mred", "over\\rwritten", "\\xff\\x9b2J", "last \\u202e"]


@given(st.text())
def test_what_is_shown_can_be_sent_and_stays_so(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert printable(shown) == shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(begin: str) -> None:
    assert spreadsheet_cell(f'{begin}HYPERLINK("http://example.org")') == f'\'{begin}HYPERLINK("http://example.org")'


def test_numbers_and_plain_text_stay() -> None:
    assert [spreadsheet_cell(value) for value in (-1, 2.5, None, "a=b")] == [-1, 2.5, None, "a=b"]


def test_one_is_not_several() -> None:
    assert [counted(number, "run") for number in (0, 1, 2, 1000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]


def test_a_result_is_told_in_words() -> None:
    assert in_words(Came(3, CodeState.BEFORE, left_out=("a", "b"))) == "made 3, on before, left out 2"
    assert in_words(Came(0, CodeState.AFTER)) == "made 0, on after"
    assert [in_words(value) for value in ("env", 2, CodeState.BEFORE, [1, 2], None)] == [
        "env",
        "2",
        "before",
        "2",
        "None",
    ]
