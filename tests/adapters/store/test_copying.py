"""Copies of a store: equal in every row and file, finished after a kill, refused where they would mix two stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_rows import facts, run
from typer.testing import CliRunner

from flows.interface.cli import app
from tasks.adapters.store.files.layout import file_path
from tasks.adapters.store.maintenance.copying import COPYING, copy
from tasks.adapters.store.rows.store import Store
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.outcome import RunStatus
from tasks.domain.tables import TABLES


@pytest.fixture
def full(store: Store) -> Store:
    """Packed and loose runs, a failed one, a log and a reply."""
    log = store.put_file(b"log")
    store.disk.write("replies/ab/abc.json.gz", b"reply")
    store.write_run(run(9, status=RunStatus.INFRASTRUCTURE, cases=0))
    for number in range(3):
        store.write_run(run(number, log=log), *facts(run(number)))
    store.compact(grace_s=0)
    store.write_run(run(5), *facts(run(5)))
    return store


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "other"))


def rows(store: Store) -> list[set[object]]:
    return [set(store.read(row_type)) for row_type in TABLES]


def test_a_copy_has_every_row_and_file_and_is_made_once(full: Store, other: Store) -> None:
    first = copy(full.url, other.url)
    assert rows(other) == rows(full)
    assert other.run_keys() == full.run_keys() == {run(number).run_key for number in (0, 1, 2, 5)}
    assert other.disk.read("replies/ab/abc.json.gz") == b"reply"
    assert other.check() == ()
    again = copy(full.url, other.url)
    assert (again.copied, again.there) == (0, first.copied)
    full.write_run(run(6), *facts(run(6)))
    assert copy(full.url, other.url).copied == 4
    assert rows(other) == rows(full)


def test_a_killed_copy_is_finished(full: Store, other: Store) -> None:
    """It has some files, one that FROM has written anew since, and no runs yet."""
    whole = copy(full.url, other.url).copied
    (_, *gone) = [entry.path for entry in other.disk.files("case_outcome")] + list(other.disk.paths("run"))
    for path in gone:
        other.disk.delete(path)
    kept = other.disk.paths("case_outcome")[0]
    other.disk.write(kept, b"older")
    with pytest.raises(BadInput, match="rows of its own: 1 files"):
        copy(full.url, other.url)
    other.disk.write(COPYING, b"{}")
    assert copy(full.url, other.url).copied == len(gone) + 1 < whole
    assert rows(other) == rows(full)
    assert other.disk.size(COPYING) is None


def test_a_place_with_other_rows_is_refused_and_stays(full: Store, other: Store) -> None:
    other.write_run(run(7), *facts(run(7)))
    before = other.version()
    with pytest.raises(BadInput, match="rows of its own: 4 files"):
        copy(full.url, other.url)
    assert other.version() == before
    assert other.disk.paths("files") == ()


def test_no_store_and_one_place(full: Store, other: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store at"):
        copy(other.url, full.url)
    assert not (tmp_path / "other").exists()
    with pytest.raises(BadInput, match="both places"):
        copy(full.url, full.url + "/")


def test_a_backup_comes_back_and_names_a_damaged_log(
    full: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWT_STORE", full.url)
    assert CliRunner().invoke(app, ["store", "backup", str(tmp_path / "kept")]).exit_code == 0
    (day,) = (tmp_path / "kept").iterdir()
    assert CliRunner().invoke(app, ["store", "copy", str(day), other.url]).exit_code == 0
    assert rows(other) == rows(full)
    log = file_path(next(iter(full.disk.paths("files"))).rpartition("/")[2].removesuffix(".gz"))
    for store in (full, other):
        store.disk.write(log, b"torn")
    said = CliRunner().invoke(app, ["store", "copy", full.url, other.url])
    assert said.exit_code == 1
    assert f"{log} is damaged" in said.output
