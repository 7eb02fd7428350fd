"""Files that a caller names: regular ones, and names inside one folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tasks.adapters.files import file_in, output_in, regular_file
from tasks.domain.errors import BadInput, NotFound, UsageError

LEADING_OUT = ("../secret", "/etc/passwd", "..", ".", "", "a/b", "a\\b", ".hidden", "-x", "a\0b", "a\nb", "x" * 201)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "preds.jsonl").write_text("{}")
    return folder


@pytest.mark.parametrize("kind", ["a named pipe", "a folder", "a socket", "a device"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "given"
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        path = Path("/dev/zero")
    with pytest.raises(BadInput, match=f"is {kind} and not a file"):
        regular_file(path)


def test_a_missing_file_and_one_below_a_file_are_named(inbox: Path) -> None:
    for path in (inbox / "none", inbox / "preds.jsonl" / "none"):
        with pytest.raises(NotFound, match=str(path)):
            regular_file(path)


def test_a_name_finds_a_file_of_the_inbox(inbox: Path) -> None:
    assert file_in(inbox, "preds.jsonl").read_text() == "{}"
    (inbox / "again").symlink_to("preds.jsonl")
    assert file_in(inbox, "again").read_text() == "{}"
    with pytest.raises(NotFound) as missing:
        file_in(inbox, "none.jsonl")
    assert "SWT_INBOX" in missing.value.hint


@pytest.mark.parametrize("name", LEADING_OUT, ids=repr)
def test_a_name_that_leads_out_finds_nothing(inbox: Path, name: str) -> None:
    for find in (file_in, output_in):
        with pytest.raises(UsageError):
            find(inbox, name)


def test_a_link_that_leads_out_finds_nothing(inbox: Path) -> None:
    (inbox / "link").symlink_to("../secret")
    (inbox / "beside").symlink_to(inbox)
    os.mkfifo(inbox / "pipe")
    for name in ("link", "beside", "pipe"):
        with pytest.raises(BadInput):
            file_in(inbox, name)


def test_an_output_is_new_or_a_file_or_a_folder(inbox: Path) -> None:
    assert output_in(inbox / "report", "site") == inbox / "report" / "site"
    assert output_in(inbox, "preds.jsonl").is_file()
    (inbox / "link").symlink_to("../secret")
    (inbox / "dangling").symlink_to("../new")
    os.mkfifo(inbox / "pipe")
    for name in ("link", "dangling", "pipe"):
        with pytest.raises(BadInput):
            output_in(inbox, name)
