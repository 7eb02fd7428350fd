"""Localization: hand-written rankings and steps in, exact tuples out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sql_store import START, SqlStore

PATCH = """\
diff --git a/pkg/a.py b/pkg/a.py
index 1..2 100644
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -1,3 +1,3 @@
-old
--- a/not/a/file.py
+new
diff --git a/pkg/new.py b/pkg/new.py
new file mode 100644
--- /dev/null
+++ b/pkg/new.py
@@ -0,0 +1 @@
+x
diff --git a/docs/a.rst b/docs/a.rst
--- a/docs/a.rst
+++ b/docs/a.rst
@@ -1 +1 @@
-x
+y
diff --git a/pkg/gone.py b/pkg/gone.py
deleted file mode 100644
--- a/pkg/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
ONE_FILE = "diff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n"


@pytest.fixture
def three(store: SqlStore) -> SqlStore:
    """Instance i has the golden files pkg/a.py and pkg/gone.py, j and k have b.py."""
    store.instance("i", patch=PATCH)
    store.instance("j", patch=ONE_FILE)
    store.instance("k", patch=ONE_FILE)
    return store


def located(
    store: SqlStore, instance: str, *paths: str, name: str = "", status: str = "ranked", minutes: int = 0, **more: Any
) -> str:
    """A localization `<instance>-<method>`, with its ranking."""
    labels = {"method": "bm25", "variant": "code", "top_n": 30} | more
    localization_id = name or f"{instance}-{labels['method']}"
    known = {"localization_id": localization_id, "instance_key": instance} | labels
    finished = START + timedelta(minutes=minutes)
    store.add("localization_run", status=status, files=len(paths), finished_at=finished, **known)
    for rank, path in enumerate(paths, start=1):
        store.add("localization", rank=rank, path=path, **known)
    return localization_id


def stepped(store: SqlStore, localization_id: str, *steps: str) -> None:
    """Steps `turn kind tool argument reason`, `-` for nothing; the argument is k or a path."""
    instance = localization_id.split("-")[0]
    for position, text in enumerate(steps):
        turn, kind, tool, argument, reason = ("" if word == "-" else word for word in text.split())
        place = {"k": int(argument)} if argument.isdecimal() else {"path": argument}
        store.add(
            "localization_step",
            localization_id=localization_id,
            instance_key=instance,
            method="agent",
            position=position,
            turn=turn,
            kind=kind,
            tool=tool,
            reason=reason,
            **place,
        )


def test_golden_files_are_the_python_files_that_existed(three: SqlStore) -> None:
    assert three.rows("FROM golden_file ORDER BY ALL") == [
        ("i", "pkg/a.py"),
        ("i", "pkg/gone.py"),
        ("j", "b.py"),
        ("k", "b.py"),
    ]


def test_a_file_counts_once_however_many_snapshots_have_the_instance(three: SqlStore) -> None:
    three.instance("k", snapshot="later", patch=ONE_FILE)
    assert three.value("SELECT count(*) FROM golden_file WHERE instance_key = 'k'") == 1


def test_scores(three: SqlStore) -> None:
    located(three, "i", "x.py", "pkg/a.py", "pkg/b.py", "pkg/gone.py")
    located(three, "j", "x.py")
    columns = "instance_key, golden, first_rank, found_1, found_5, average_precision, reciprocal_rank"
    assert three.rows(f"SELECT {columns} FROM localization_score ORDER BY ALL") == [
        ("i", 2, 2, 0, 2, 0.5, 0.5),
        ("j", 1, None, 0, 0, 0.0, 0.0),
    ]


def test_accuracy(three: SqlStore) -> None:
    located(three, "i", "pkg/a.py", "x.py", *(f"x{number}.py" for number in range(8)), "pkg/gone.py")
    located(three, "j", *(f"x{number}.py" for number in range(4)), "b.py")
    located(three, "k", status="aborted")
    expected = (3, 0, 33.3, 66.7, 66.7, 66.7, 0.0, 33.3, 33.3, 16.7, 50.0, 50.0, 66.7)
    columns = "n, unmeasured, any_1, any_5, any_10, any_30, all_1, all_5, all_10"
    recalls = "recall_1, recall_5, recall_10, recall_30"
    assert three.rows(f"SELECT {columns}, {recalls} FROM localization_code") == [expected]
    assert three.rows("SELECT map, mrr FROM localization_code") == [(0.2636, 0.4)]
    assert three.rows("FROM localization_lucene") == []


def test_a_timeout_is_no_miss(three: SqlStore) -> None:
    known = {"method": "agent", "model": "m", "variant": "lucene"}
    located(three, "j", "b.py", name="j-1", **known)
    located(three, "k", name="k-1", status="timeout", **known)
    columns = "method, model, n, unmeasured, any_1, mrr"
    assert three.rows(f"SELECT {columns} FROM localization_lucene") == [("agent", "m", 1, 2, 100.0, 1.0)]


def test_of_two_localizations_the_later_counts_and_any_over_a_timeout(three: SqlStore) -> None:
    located(three, "j", "x.py", name="first")
    located(three, "j", "b.py", name="second", minutes=1)
    located(three, "j", name="third", minutes=2, status="timeout")
    assert three.rows("SELECT localization_id, first_rank FROM localization_score") == [("second", 1)]


def test_test_files_models_and_depths_stay_apart(three: SqlStore) -> None:
    for number, more in enumerate(({}, {"with_tests": True}, {"top_n": 10}, {"model": "m", "method": "agent"})):
        located(three, "j", "b.py", name=f"j-{number}", **more)
    assert three.value("SELECT count(*) FROM localization_code") == 4


@pytest.fixture
def agents(three: SqlStore) -> SqlStore:
    for instance, top_n in (("i", 1), ("j", 1), ("i", 5), ("k", 5)):
        labels = {"method": "agent", "model": "m", "top_n": top_n}
        located(three, instance, name=f"{instance}-{top_n}", **labels)
    start = ("extract tool extract_relevant - -", "retrieve tool bm25 10 -")
    stepped(three, "i-1", *start, "view tool view_file a.py -", "view tool view_file a.py -")
    stepped(three, "j-1", *start, "view reprompt view_file a.py invalid-path", "view tool view_file a.py -")
    stepped(
        three,
        "i-5",
        "extract tool extract_relevant - -",
        "retrieve tool bm25 30 -",
        "view abort-view view_file a.py too-many-views",
        "view tool view_readme - -",
        "view reprompt - - invalid-list",
        "view trimmed - - dropped-paths",
        "review abort - - invalid-output",
    )
    stepped(three, "k-5", "extract reprompt - - no-json", "extract abort - - too-many-calls", "view timeout - - model")
    return three


def test_k_preferences(agents: SqlStore) -> None:
    assert agents.rows("SELECT model, top_n, k_10, k_20, k_30 FROM localization_k") == [
        ("m", 1, 2, 0, 0),
        ("m", 5, 0, 0, 1),
    ]


def test_tool_volume_and_redundancy(agents: SqlStore) -> None:
    assert agents.rows("SELECT * EXCLUDE (snapshot, variant, with_tests) FROM localization_tools") == [
        ("m", 3, 4, 3, 1.0, 3, 1.0, 5, 1.7, 1, 2, 1, 2.5, 5.0)
    ]


def test_error_conditions(agents: SqlStore) -> None:
    assert agents.rows("SELECT * EXCLUDE (snapshot, variant, with_tests) FROM localization_errors") == [
        ("m", 4, 1, 20.0, 1, 1, 1, 1, 1, 1, 1)
    ]


def test_a_ranking_that_is_not_whole_is_found(three: SqlStore) -> None:
    located(three, "i", "a.py", "b.py", name="whole")
    located(three, "k", name="nothing", status="aborted")
    torn = located(three, "j", "a.py", name="torn")
    three.add("localization", localization_id=torn, instance_key="j", rank=3, path="c.py")
    assert three.rows("FROM audit_localization_ranks") == [("torn", 1, 2, 3)]
