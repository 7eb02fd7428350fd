"""`swt store check` asks every audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.interface.commands.queries import check_store
from flows.interface.settings import PROJECT, Settings
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Submission
from tasks.domain.names import CandidateId, InstanceId, InstanceKey
from tasks.domain.outcome import Policy

AUDITS = len(list((PROJECT / "sql" / "audits").glob("*.sql")))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=str(tmp_path / "store"))


def orphan(number: int) -> Submission:
    """What became of a candidate that is not there."""
    return Submission(
        candidate_id=CandidateId(f"nobody-{number}"),
        instance_key=InstanceKey("k"),
        instance_id=InstanceId("a__b-1"),
        policy=Policy.TESTS_ONLY,
        suite_id=None,
        well_formed=False,
        reason="empty",
        detail="",
        rung="",
        stripped=(),
    )


def test_audits_that_find_nothing_are_counted(settings: Settings) -> None:
    assert check_store(settings) == (f"{AUDITS} of {AUDITS} audits find nothing", True)


def test_an_audit_that_finds_something_is_named_with_its_first_rows(settings: Settings) -> None:
    Store(settings.store).write([orphan(number) for number in range(5)])
    text, clean = check_store(settings)
    head, *rows, last = text.splitlines()
    assert not clean
    assert head.startswith("audit_orphan: 5 rows. ")
    assert [row.split() for row in rows if "nobody" in row] == [
        ["submission.candidate_id", f"nobody-{number}"] for number in range(3)
    ]
    assert last == f"{AUDITS - 1} of {AUDITS} audits find nothing"


def test_audits_are_not_asked_where_files_cannot_be_read(settings: Settings) -> None:
    (Path(settings.store) / Store(settings.store).write([orphan(1)])).write_bytes(b"torn")
    text, clean = check_store(settings)
    assert not clean
    assert text.splitlines()[-1] == "the audits were not asked: they need every file"
