"""The lines that golden patches change."""

from tasks.changed_lines.task import changed_lines
from tasks.domain.names import InstanceKey

KEY = InstanceKey("key")


def lines(patch: str) -> list[tuple[str, str, int]]:
    return [(change.path, change.side.value, change.line) for change in changed_lines(KEY, patch)]


def test_removed_lines_count_as_before_and_added_ones_as_after() -> None:
    patch = "--- a/x.py\n+++ b/x.py\n@@ -3,4 +3,5 @@\n a\n-b\n+B\n+C\n c\n d\n@@ -20,2 +21 @@\n e\n-f\n"
    assert lines(patch) == [("x.py", "before", 4), ("x.py", "after", 4), ("x.py", "after", 5), ("x.py", "before", 21)]


def test_hunks_without_context() -> None:
    assert lines("--- a/x.py\n+++ b/x.py\n@@ -5,0 +6,2 @@\n+a\n+b\n") == [("x.py", "after", 6), ("x.py", "after", 7)]
    assert lines("--- a/x.py\n+++ b/x.py\n@@ -5,2 +4,0 @@\n-a\n-b\n") == [("x.py", "before", 5), ("x.py", "before", 6)]


def test_added_deleted_and_renamed_files() -> None:
    assert lines("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,2 @@\n+a\n+b\n") == [("x.py", "after", 1), ("x.py", "after", 2)]
    assert lines("--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n") == [("x.py", "before", 1)]
    moved = "diff --git a/x.py b/y.py\nrename from x.py\nrename to y.py\n--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert lines(moved) == [("x.py", "before", 1), ("y.py", "after", 1)]


def test_only_python_files_count() -> None:
    assert lines("--- a/x.rst\n+++ b/x.rst\n@@ -1 +1 @@\n-a\n+b\n") == []
    assert lines("no patch") == []
