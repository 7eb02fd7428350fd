"""The gate: a clean checkout passes and is on record, a leak stops the method and is on record too."""

from __future__ import annotations

from pathlib import Path

import pytest
from domain_rows import task_instance
from scratch_git import git

from tasks.adapters.git.command import Git
from tasks.adapters.git.histories import Histories
from tasks.adapters.git.leaks import Checkout
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.leaks.audit import Audited, audit, fixed_blobs
from tasks.adapters.patch.render import blob_sha
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.leaks import Surroundings
from tasks.domain.errors import LeakFound
from tasks.domain.guards import Leak, LeakAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId, Sha

FIX = "--- a/larder.py\n+++ b/larder.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
TESTS = "--- /dev/null\n+++ b/test_larder.py\n@@ -0,0 +1 @@\n+def test_x(): pass\n"
BASE = {"larder.py": b"x = 1\n"}


class Place:
    """A mirror of one commit, a checkout of it, and an environment."""

    def __init__(self, folder: Path) -> None:
        source = folder / "source"
        source.mkdir()
        git(source, "init", "--quiet", "--initial-branch=main")
        (source / "larder.py").write_bytes(BASE["larder.py"])
        git(source, "add", "--all")
        git(source, "commit", "--quiet", "-m", "base")
        self.sha = git(source, "rev-parse", "HEAD")
        self.mirrors = Mirrors(folder / "mirrors")
        self.mirrors.add("owner/name", source)
        self.tree, self.site = folder / "tree", folder / "env" / "lib" / "python3.9" / "site-packages"
        self.site.mkdir(parents=True)
        Histories(Trees(self.mirrors, folder / "cache")).checkout("owner/name", self.sha, self.tree)

    @property
    def instance(self) -> TaskInstance:
        return task_instance(base_commit=Sha(self.sha), patch=FIX, test_patch=TESTS, problem_statement="text")

    def audit(self) -> Audited:
        checkout = Checkout(self.tree, self.sha, Git(self.mirrors.root), fixed=fixed_blobs(self.instance, BASE.get))
        around = Surroundings(self.site.parents[2], self.site.parents[2], self.tree, ("",), "name")
        return audit(self.instance, EnvId("e"), checkout, around)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_clean_checkout_passes(place: Place) -> None:
    audited = place.audit()
    audited.refuse()
    row = audited.audit
    assert (row.leaks, row.blocked, row.commits, row.objects, row.base_commit) == (0, False, 1, 3, place.sha)


def test_the_fix_in_the_tree_and_the_release_in_the_environment_stop_the_method(place: Place, tmp_path: Path) -> None:
    (place.tree / "larder.py").write_text("x = 2\n")
    (place.site / "larder.py").write_text("x = 2\n")
    audited = place.audit()
    assert {(leak.where, leak.rule, leak.blocking) for leak in audited.leaks} == {
        ("files", "fix", True),
        ("environment", "project-copy", True),
    }
    with pytest.raises(LeakFound, match=r"owner__name-500: 2 leaks, first files/fix at larder\.py"):
        audited.refuse()
    store = Store(str(tmp_path / "store"))
    store.write([audited.audit])
    store.write(list(audited.leaks))
    assert (store.read(LeakAudit)[0].leaks, len(store.read(Leak))) == (2, 2)


def test_what_a_tool_carries_for_itself_is_told_and_does_not_stop(place: Place) -> None:
    carried = place.site / "pip" / "_vendor" / "larder"
    (place.tree / "larder").mkdir()
    for name in ("__init__.py", "a.py", "b.py"):
        carried.mkdir(parents=True, exist_ok=True)
        (carried / name).write_text("")
        (place.tree / "larder" / name).write_text("")
    carried_leaks = [leak for leak in place.audit().leaks if leak.where == "environment"]
    assert [(leak.rule, leak.blocking) for leak in carried_leaks] == [("project-copy", False)]


def test_the_contents_that_the_golden_patches_leave(place: Place) -> None:
    assert fixed_blobs(place.instance, BASE.get) == {blob_sha(b"x = 2\n"), blob_sha(b"def test_x(): pass\n")}
