"""The table of verdicts that changed with the definition of `paper`."""

from __future__ import annotations

from sql_store import SqlStore

from benchmarks.changed_verdicts import BEFORE, CHANGED, COUNTS, NOW

NEW = "test_a.py::new"


def test_what_changed_is_told_with_what_it_follows_from(store: SqlStore) -> None:
    cells = {
        "a": {NEW: "- - failed passed"},
        "b": {NEW: "- - failed passed", "test_a.py::s": "- - skipped skipped", "test_a.py::x": "- - xfailed xpassed"},
        "c": {NEW: "- - failed passed", "test_a.py::f": "- - failed failed"},
        "d": {NEW: "- - failed passed", "test_a.py::gone": "- - passed -"},
        "e": {"test_a.py::f[1]": "- - failed -", "test_a.py::f[2]": "- - - passed"},
        "f": {},
    }
    for name, found in cells.items():
        store.instance(name)
        store.judged(name, "golden", found)
    asked = {"snapshots": ["s"], "method": "golden"}
    for sql in (BEFORE, NOW):
        store.ask(sql, asked)
    try:
        assert store.rows(COUNTS) == [("s", 5, 1, 3, 2, 0)], "golden tests without a case are not measured"
        assert store.rows(CHANGED) == [
            ("s", "b", "tests-only", "not-passed-after", "solved", 3, 1, 1, 0),
            ("s", "e", "tests-only", "not-passed-after", "solved", 2, 0, 0, 1),
        ]
    finally:
        store.con.execute("DROP TABLE before; DROP TABLE changed")
