from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scratch_git import git
from snapshot_rows import instance

from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.names import RepoName, Sha
from tasks.snapshot.facts import CodeBase, Size, code_base, fact_of, size_of

PATCH = """\
diff --git a/b.py b/b.py
--- a/b.py
+++ b/b.py
@@ -1,2 +1,3 @@
 a
-b
+c
+d
@@ -9 +10 @@
-x
+y
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+n
"""


def test_a_patch_is_counted_by_file_hunk_and_line() -> None:
    assert size_of(PATCH) == Size(files=2, new_files=1, hunks=3, added=4, removed=2)


def test_what_is_no_patch_counts_as_nothing() -> None:
    assert size_of("prose") == Size(files=0, new_files=0, hunks=0, added=0, removed=0)


def test_a_statement_is_counted_by_words_and_by_what_it_points_at() -> None:
    said = (
        "See https://example.org/x#12 and #7, a/b#8 since 1a2b3c4d5e; &#39; is no reference, "
        "nor is 1234567 a commit, nor decade. ![shot](x.png)"
    )
    fact = fact_of(replace(instance(1), problem_statement=said, patch=PATCH), CodeBase(files=3, lines=99))

    assert (fact.links, fact.references, fact.commits) == (1, 2, 1)
    assert fact.images > 0
    assert (fact.source_files, fact.source_lines, fact.patch_files) == (3, 99, 2)
    assert fact.statement_words == len(said.split())


def test_a_code_base_is_its_python_files_without_tests_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for path in ("pkg/a.py", "pkg/b.py", "pkg/test_b.py", "tests/helper.py", "README.md"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text("x = 1\ny = 2\n")
    (source / "link.py").symlink_to("pkg/a.py")
    for words in (("init", "--quiet", "--initial-branch=main"), ("add", "--all"), ("commit", "--quiet", "-m", "base")):
        git(source, *words)
    mirrors = Mirrors(tmp_path / "mirrors")
    mirrors.add("owner/name", source)

    base = Sha(mirrors.commit("owner/name", "main"))

    assert code_base(mirrors, RepoName("owner/name"), base) == CodeBase(files=2, lines=4)
