"""Submodules that a golden patch moves: their folders are empty here, before and after."""

from pathlib import Path

from scratch_git import git

from tasks.adapters.git.changes import PATCH_OPTIONS
from tasks.adapters.patch.apply import Applied, apply_patch, apply_stored, apply_to_files
from tasks.adapters.patch.model import Patch, Reason, Refused
from tasks.adapters.patch.read import read_patch

COMMITS = ("1" * 40, "2" * 40)


def diff(folder: Path, *states: tuple[str | None, str]) -> str:
    """Between two commits of a submodule `inner` (null: none) and a text beside it."""
    folder.mkdir()
    git(folder, "init", "-q")
    for commit, text in states:
        (folder / "t.py").write_text(text)
        git(folder, "add", "t.py")
        git(folder, "rm", "-q", "--cached", "--ignore-unmatch", "inner")
        if commit:
            git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
        git(folder, "commit", "-qm", "x", "--allow-empty")
    return git(folder, "diff", *PATCH_OPTIONS, "HEAD~1", "HEAD")


def test_what_is_beside_a_moved_submodule_is_applied(tmp_path: Path) -> None:
    text = diff(tmp_path / "repo", (COMMITS[0], "a\n"), (COMMITS[1], "b\n"))
    assert "+Subproject commit" in text
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "t.py").write_text("a\n")
    applied = apply_patch(tree, text)
    assert isinstance(applied, Applied), applied
    assert [change.path for change in applied.changes] == ["t.py"]
    assert applied.notes == ("the submodule inner is left as it is, an empty folder",)
    assert (tree / "t.py").read_text() == "b\n"
    assert not list((tree / "inner").iterdir())


def test_one_that_is_added_or_taken_away_changes_nothing(tmp_path: Path) -> None:
    for name, states in {
        "added": ((None, "a\n"), (COMMITS[0], "a\n")),
        "taken away": ((COMMITS[0], "a\n"), (None, "a\n")),
    }.items():
        applied = apply_stored(diff(tmp_path / name, *states), lambda _path: None)
        assert isinstance(applied, Applied), applied
        assert (applied.patch, applied.changes, applied.rung) == ("", (), "exact")


def test_a_candidate_with_a_submodule_is_refused(tmp_path: Path) -> None:
    read = read_patch(diff(tmp_path / "repo", (COMMITS[0], "a\n"), (COMMITS[1], "b\n")))
    assert isinstance(read, Patch)
    refused = apply_to_files(read, lambda _path: b"a\n")
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.LINK


def test_a_symbolic_link_is_refused_wherever_it_comes_from(tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    (folder / "inner").symlink_to("/etc")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    refused = apply_stored(git(folder, "diff", *PATCH_OPTIONS, "HEAD~1", "HEAD"), lambda _path: None)
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.LINK
