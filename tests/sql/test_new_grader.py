"""A grader is one file: what it counts reaches verdicts, guards and tables, and no other file has to know it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from sql_store import SQL, SqlStore

from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain.errors import BadInput


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """sql/ with a grader `strict`: as the paper's, but a skipped case is a failure, and guards compare every case."""
    shutil.copytree(SQL, tmp_path / "sql")
    text = (SQL / "graders" / "paper.sql").read_text()
    text = re.sub(r"\bpaper", "strict", text).replace("('skipped', 'none')", "('skipped', 'fail')")
    text = text.replace("true AS only_t", "false AS only_t")
    (tmp_path / "sql" / "graders" / "strict.sql").write_text(text)
    return tmp_path / "sql"


def test_a_new_file_is_a_grader_everywhere(files: Path) -> None:
    store = SqlStore(named_queries(files))
    store.instance("i")
    store.judged("i", "m", {"test_a.py::new": "- - skipped passed"})
    assert store.rows("SELECT grader, solved FROM verdict ORDER BY grader") == [
        ("paper", False),
        ("strict", True),
        ("swt_bench", True),
        ("swt_bench_2024", False),
    ]
    pair = "before = 'skipped' AND after = 'passed'"
    assert store.value(f"SELECT transition FROM transition WHERE grader = 'strict' AND {pair}") == "fail_to_pass"
    assert store.rows("SELECT grader FROM grader WHERE NOT only_t ORDER BY grader") == [
        ("strict",),
        ("swt_bench",),
        ("swt_bench_2024",),
    ]
    guards = store.rows("SELECT DISTINCT grader FROM guard_result ORDER BY grader")
    assert ("strict",) in guards
    assert len(guards) == 4


def test_a_grader_says_all_that_is_asked_of_it(files: Path) -> None:
    grader = files / "graders" / "strict.sql"
    grader.write_text(grader.read_text().replace("strict_grader", "strict_graders"))
    with pytest.raises(BadInput, match=r"strict\.sql does not define strict_grader"):
        named_queries(files)


def test_no_other_file_names_a_grader_of_the_harness() -> None:
    """Two files mean the definition of change coverage; one writes reports for the public harness."""
    rest = [path for path in SQL.rglob("*.sql") if path.parent.name != "graders"]
    code = {path.name: re.sub(r"--.*", "", path.read_text()) for path in rest}
    naming = sorted(name for name, text in code.items() if re.search(r"'swt_bench(_2024)?'", text))
    assert naming == ["change_coverage.sql", "exported_result.sql", "table3_by.sql"]
