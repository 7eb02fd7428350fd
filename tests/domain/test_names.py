"""File names that are made of any name: safe, short, and never the same for two names."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.names import FILE_NAME_BYTES, file_name

ANY = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=300),
    st.text("aA_- ./\\é", max_size=6),
    st.from_regex(r"[a-c]{0,2}--[0-9a-f]{16}", fullmatch=True),
    st.sampled_from(["con", "CON", "com1", "nul", "..", ".", "", "x" * 300, "é" * 300]),
)
"""Names of all kinds: half pairs, names that are alike, that look like a name made from another one, devices."""


@given(st.sets(ANY, min_size=2, max_size=6))
def test_two_names_never_have_one_file_name_even_where_case_is_ignored(names: set[str]) -> None:
    more = names | {file_name(name) for name in names} | {name.swapcase() for name in names}
    assert len({file_name(name).lower() for name in more}) == len(more)


@given(ANY)
def test_a_file_name_is_short_plain_ascii_and_no_device(name: str) -> None:
    made = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", made)
    assert len(made.encode()) <= FILE_NAME_BYTES
    assert not re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", made)


@pytest.mark.parametrize(
    "alike",
    [
        ("dup x", "dup_x", "dup/x", "dup-x", "dup.x"),
        ("A", "a"),
        ("x" * 299, "x" * 300),
        (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
    ],
    ids=["separators", "case", "length", "accents"],
)
def test_names_that_are_alike_are_files_of_their_own(tmp_path: Path, alike: tuple[str, ...]) -> None:
    for name in alike:
        (tmp_path / f"{file_name(name)}.json").write_text(name)
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == sorted(alike)


def test_a_plain_name_stays_as_it_is() -> None:
    assert [file_name(name) for name in ("django__django-11019", "demo-careful", "2026-11")] == [
        "django__django-11019",
        "demo-careful",
        "2026-11",
    ]
