"""Answers that are kept, and files that are looked at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from store_rows import facts, run

from tasks.adapters.store.files.quarantine import LOOKED
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.cached_answers import kept_answers

COUNTED = "-- How many.\n-- needs: run\nCREATE OR REPLACE VIEW counted AS SELECT count(*) AS n FROM run;"


class Asked:
    """A store with one run and one definition, and whoever asks it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sql, self.store = folder, folder / "sql", Store(str(folder / "store"))
        self.sql.mkdir()
        (self.sql / "counted.sql").write_text(COUNTED)
        self.store.write_run(run(1), *facts(run(1)))

    def ask(self, statement: str = "FROM counted") -> list[dict[str, int]]:
        statements = (statement, "SELECT n + 100 AS n FROM counted")
        one, _ = kept_answers(self.store.url, self.sql, ("counted",), statements, self.folder / "kept")
        return list(one.to_pylist())

    @property
    def kept(self) -> list[Path]:
        return sorted((self.folder / "kept").glob("*"))


def test_an_answer_is_given_again_until_a_file_or_a_definition_changes(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    assert asked.ask() == [{"n": 1}]
    (file,) = asked.kept
    written = file.stat().st_mtime_ns
    assert asked.ask() == [{"n": 1}]
    assert file.stat().st_mtime_ns == written
    asked.store.write_run(run(2), *facts(run(2)))
    assert asked.ask() == [{"n": 2}]
    (asked.sql / "counted.sql").write_text(COUNTED.replace("count(*)", "count(*) + 1"))
    assert asked.ask() == [{"n": 3}]


def test_another_question_or_a_damaged_file_gets_an_answer_of_its_own(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    asked.ask()
    assert asked.ask("SELECT n * 10 AS n FROM counted") == [{"n": 10}]
    for file in asked.kept:
        file.write_bytes(file.read_bytes()[:-40])
    assert asked.ask() == [{"n": 1}]
    for file in asked.kept:
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, pa.schema([("n", pa.int64())])):
            pass
    assert asked.ask() == [{"n": 1}]


def test_files_are_looked_at_once_and_again_when_they_change(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    paths = [tmp_path / store.write_run(run(number), *facts(run(number))) for number in range(1, 12)]
    assert store.quarantine() == ()
    assert (tmp_path / LOOKED).exists()
    (tmp_path / LOOKED).write_text((tmp_path / LOOKED).read_text())
    paths[3].write_bytes(b"torn")
    assert [problem.kind for problem in store.quarantine()] == ["torn"]
    (tmp_path / LOOKED).write_text("no note")
    paths[5].write_bytes(b"torn")
    assert [problem.kind for problem in store.quarantine()] == ["torn"]
