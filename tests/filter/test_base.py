"""The base commit, for every way in which a pull request can be merged, in real git."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_history import TEN, Source, new_source, pull_row

from tasks.domain.collect import PullBase, PullRequest
from tasks.domain.names import Sha
from tasks.filter.base_commit import prove

EDIT = TEN.replace("line 3\n", "changed 3\n")
BOTH = {"pkg/a.py": (1, 1), "tests/test_a.py": (1, 0)}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return new_source(tmp_path / "source")


def proved(source: Source, pull: PullRequest) -> PullBase:
    changes = source.changes(source.folder.parent / "mirrors")
    (row,) = prove([pull], changes, changes.graph())
    return row


def facts(row: PullBase) -> tuple[object, ...]:
    return row.kind, row.base_commit, row.base_verified, row.reason


def moved_on(source: Source) -> Sha:
    """The default branch goes on beside the pull request."""
    return source.commit({"pkg/b.py": TEN + "more\n"})


def test_merge(source: Source) -> None:
    work = source.branch({"pkg/a.py": EDIT}, {"tests/test_a.py": TEN + "new\n"})
    tip = moved_on(source)
    source.git("merge", "--quiet", "--no-ff", "-m", "merge", "work")
    row = proved(source, pull_row(7, BOTH, merge=source.head, commits=work))
    assert facts(row) == ("merge", tip, "numstat", "")
    assert row.fixed_commit == source.head
    assert row.tried == (tip,)
    assert row.committed_at is not None


def test_a_merge_that_brings_less_than_the_branch_is_told_by_the_merge_base(source: Source) -> None:
    """The default branch got one of the two changes in the meantime."""
    fork = source.head
    work = source.branch({"pkg/a.py": EDIT}, {"tests/test_a.py": TEN + "new\n"})
    tip = source.commit({"pkg/a.py": EDIT}, "the same change, by somebody else")
    source.git("merge", "--quiet", "--no-ff", "-m", "merge", "work")
    row = proved(source, pull_row(7, BOTH, merge=source.head, commits=work))
    assert facts(row) == ("merge", fork, "numstat", "")
    assert (row.tried, row.fixed_commit) == ((tip, fork), work[-1])


def test_squash(source: Source) -> None:
    work = source.branch({"pkg/a.py": EDIT}, {"tests/test_a.py": TEN + "new\n"})
    tip = moved_on(source)
    source.git("merge", "--quiet", "--squash", "work")
    merge = source.commit({}, "squashed")
    assert facts(proved(source, pull_row(7, BOTH, merge=merge, commits=work))) == ("squash", tip, "numstat", "")


def test_rebase(source: Source) -> None:
    work = source.branch({"pkg/a.py": EDIT}, {"pkg/a.py": EDIT + "x\n"}, {"tests/test_a.py": TEN + "new\n"})
    tip = moved_on(source)
    source.git("cherry-pick", *work)
    files = {"pkg/a.py": (2, 1), "tests/test_a.py": (1, 0)}
    row = proved(source, pull_row(7, files, merge=source.head, commits=work))
    assert facts(row) == ("rebase", tip, "numstat", "")
    assert len(row.tried) == 4


def test_fast_forward(source: Source) -> None:
    tip = source.head
    work = source.branch({"pkg/a.py": EDIT}, {"tests/test_a.py": TEN + "new\n"})
    source.git("merge", "--quiet", "--ff-only", "work")
    row = proved(source, pull_row(7, BOTH, merge=source.head, commits=work))
    assert facts(row) == ("fast-forward", tip, "numstat", "")


def test_renames_and_binary_files_count_as_on_github(source: Source) -> None:
    work = source.branch({"pkg/a.py": None, "pkg/c.py": EDIT, "logo.png": b"\x89PNG\0\1", "tests/ä b.py": "x\n"})
    tip = moved_on(source)
    source.git("merge", "--quiet", "--no-ff", "-m", "merge", "work")
    files = {"pkg/c.py": (1, 1), "logo.png": (0, 0), "tests/ä b.py": (1, 0)}
    assert facts(proved(source, pull_row(7, files, merge=source.head, commits=work)))[1:3] == (tip, "numstat")


@pytest.mark.parametrize("files", [{"pkg/a.py": (1, 1)}, {**BOTH, "pkg/z.py": (1, 0)}, {**BOTH, "pkg/a.py": (2, 1)}])
def test_other_files_or_counts_prove_nothing(source: Source, files: dict[str, tuple[int, int]]) -> None:
    work = source.branch({"pkg/a.py": EDIT}, {"tests/test_a.py": TEN + "new\n"})
    source.git("merge", "--quiet", "--no-ff", "-m", "merge", "work")
    row = proved(source, pull_row(7, files, merge=source.head, commits=work))
    assert facts(row) == (None, None, "", "counts-differ")


def test_what_cannot_be_tried_says_why(source: Source) -> None:
    assert proved(source, pull_row(7, BOTH, merge=None)).reason == "no-merge-commit"
    assert proved(source, pull_row(7, BOTH, merge=Sha("0" * 40))).reason == "not-in-mirror"
    assert proved(source, pull_row(7, BOTH, merge=source.head, changed_files=9)).reason == "not-in-mirror"
    tip = moved_on(source)
    assert proved(source, pull_row(7, BOTH, merge=tip, changed_files=9)).reason == "list-incomplete"
