"""Files of an agent's own, and files that the repository ignores, are no part of its work."""

from __future__ import annotations

from tasks.adapters.agents.own_work import ignored, own_work
from tasks.adapters.patch.render import Change

FILES = {
    ".gitignore": b"build/\n*.log\n!kept.log\n/root_only.txt\n",
    "docs/.gitignore": b"_out\n",
    "notes.log": b"a tracked file",
}


def new(path: str) -> Change:
    return Change(path=path, before=None, after="x\n")


def test_the_ignore_files_of_the_base_commit_decide() -> None:
    asked = ["build/a/b.py", "x.log", "deep/y.log", "kept.log", "root_only.txt", "sub/root_only.txt", "docs/_out/z"]
    asked += ["_out/z", ":(top)magic.log", "star*.py"]
    found = ignored(asked, FILES, FILES.get)
    assert found == {"build/a/b.py", "x.log", "deep/y.log", "root_only.txt", "docs/_out/z", ":(top)magic.log"}


def test_without_ignore_files_nothing_is_ignored() -> None:
    assert ignored(["a.log"], ["b.py"], lambda path: None) == frozenset()
    assert ignored([], FILES, FILES.get) == frozenset()


def test_an_agents_own_rules_have_no_say() -> None:
    """It may write a .gitignore; only that of the base commit counts."""
    changes = (Change(path=".gitignore", before="build/\n", after="tests/\n"), new("tests/test_a.py"))
    kept, out = own_work(changes, (), FILES, FILES.get)
    assert (kept, out) == (changes, ())


def test_names_of_its_own_count_at_any_depth_and_tracked_files_always_stay() -> None:
    tracked = Change(path="notes.log", before="a", after="b")
    changes = (new(".aider.chat.md"), new("tests/.aider.tags/cache.db"), new("x.log"), tracked, new("tests/test_a.py"))
    kept, out = own_work(changes, (".aider*",), FILES, FILES.get)
    assert [change.path for change in kept] == ["notes.log", "tests/test_a.py"]
    assert out == (".aider.chat.md", "tests/.aider.tags/cache.db", "x.log")
