"""Mirrors of a small local repository."""

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.changes import Changes
from tasks.adapters.git.command import GitFailed
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.sandbox.supervisor import tree
from tasks.domain.errors import BadInput, InfrastructureError, NotFound
from tasks.domain.names import RepoName

REPO = "owner/name"


def test_a_mirror_does_not_need_its_source_any_more(mirrors: Mirrors, source: Path, sha: str) -> None:
    shutil.rmtree(source)
    assert mirrors.path(REPO).name == "owner__name.git"
    assert mirrors.has_commit(REPO, sha)
    assert mirrors.read_file(REPO, sha, "pkg/mod.py") == b"VALUE = 1\n"
    assert mirrors.read_file(REPO, sha, "pkg/ä b.py") == b"x = 2\n"
    assert mirrors.read_file(REPO, sha, "link") == b"pkg/mod.py"


def test_what_is_no_file_is_null(mirrors: Mirrors, sha: str) -> None:
    assert mirrors.read_file(REPO, sha, "pkg") is None
    assert mirrors.read_file(REPO, sha, "pkg/none.py") is None
    assert mirrors.read_file(REPO, sha, "sub") is None


def test_the_committer_date_is_utc(mirrors: Mirrors, sha: str) -> None:
    assert mirrors.committed_at(REPO, sha) == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_every_path_is_listed_whatever_its_bytes(mirrors: Mirrors, sha: str) -> None:
    paths = mirrors.list_paths(REPO, sha)
    assert len(paths) == 11
    assert {"pkg/caf\udce9.txt", "pkg/ä b.py", "link", "sub", ".gitattributes"} <= set(paths)


def test_adding_again_brings_what_is_new_and_loses_nothing(mirrors: Mirrors, source: Path, sha: str) -> None:
    (source / "new").write_text("")
    git(source, "add", "new")
    git(source, "commit", "--quiet", "--amend", "-m", "rewritten")
    mirrors.add(REPO, source)
    assert mirrors.has_commit(REPO, git(source, "rev-parse", "HEAD"))
    assert mirrors.has_commit(REPO, sha)


def test_what_a_branch_left_behind_when_it_was_forced_stays_in_the_graph(
    mirrors: Mirrors, source: Path, sha: str
) -> None:
    """A force-pushed branch made every instance of it one whose merge commit is not in the mirror, and retired it."""
    (source / "new").write_text("")
    git(source, "add", "new")
    git(source, "commit", "--quiet", "--amend", "-m", "rewritten")
    mirrors.add(REPO, source)
    graph = Changes(mirrors, RepoName(REPO)).graph()
    assert {sha, git(source, "rev-parse", "HEAD")} <= set(graph)
    git(source, "commit", "--quiet", "--allow-empty", "-m", "forward")
    mirrors.add(REPO, source)
    kept = git(mirrors.path(REPO), "for-each-ref", "--format=%(refname)", "refs/kept")
    assert kept == f"refs/kept/{sha}", "a branch that goes on leaves nothing behind"


def test_what_is_missing_is_named_with_the_next_step(mirrors: Mirrors) -> None:
    with pytest.raises(NotFound, match="mirror of no/such") as missing:
        mirrors.path("no/such")
    assert missing.value.hint == "swt repo add no/such --git PATH"
    for ask in (mirrors.committed_at, mirrors.list_paths):
        with pytest.raises(NotFound, match="no commit"):
            ask(REPO, "0" * 40)
    with pytest.raises(NotFound, match="no commit"):
        mirrors.read_file(REPO, "0" * 40, "pkg/mod.py")
    assert not mirrors.has_commit(REPO, "0" * 40)


@pytest.mark.parametrize("sha", ["--output=x", "HEAD:pkg", "HEAD~1", ""])
def test_only_names_of_commits_are_passed_on(mirrors: Mirrors, sha: str) -> None:
    with pytest.raises(BadInput):
        mirrors.has_commit(REPO, sha)


@pytest.mark.parametrize("repo", ["name", "a/b/c", "../x", "/x", "a/", "a/.."])
def test_only_owner_and_name_are_a_repository(mirrors: Mirrors, repo: str) -> None:
    with pytest.raises(BadInput):
        mirrors.path(repo)


def test_a_failed_copy_leaves_nothing(tmp_path: Path) -> None:
    mirrors = Mirrors(tmp_path / "mirrors")
    with pytest.raises(InfrastructureError, match="git clone"):
        mirrors.add(REPO, f"file://{tmp_path}/nowhere")
    assert sorted(path.name for path in mirrors.root.iterdir()) == [".owner__name.git.lock", "gitconfig"]


def test_a_killed_copy_is_made_again(tmp_path: Path, source: Path, sha: str) -> None:
    mirrors = Mirrors(tmp_path / "mirrors")
    half = mirrors.root / ".owner__name.git.half"
    half.mkdir(parents=True)
    (half / "HEAD").write_text("ref: refs/heads/ma")
    mirrors.add(REPO, source)
    assert mirrors.has_commit(REPO, sha)
    assert not half.exists()


def test_many_add_the_same_at_once(tmp_path: Path, source: Path, sha: str) -> None:
    mirrors = Mirrors(tmp_path / "mirrors")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: mirrors.add(REPO, source), range(8)))
    assert mirrors.has_commit(REPO, sha)


def test_a_hundred_look_ups_start_one_process(mirrors, sha):
    own = partial(mirrors.read_file, REPO, sha)
    own("pkg/mod.py")
    before = _children()
    assert [own("pkg/mod.py") for _ in range(100)] == [b"VALUE = 1\n"] * 100
    assert mirrors.committed_at(REPO, sha).tzinfo
    assert _children() == before


def test_names_that_would_upset_the_conversation(mirrors, sha):
    for path in ("no such file", "a\nb", "pkg", "missing", f"{sha} blob 4", "", " "):
        assert mirrors.read_file(REPO, sha, path) is None
    assert mirrors.read_file(REPO, sha, "pkg/mod.py") == b"VALUE = 1\n"
    assert mirrors.read_file(REPO, sha, "pkg/ä b.py") == b"x = 2\n"


def test_threads_get_their_own_answers(mirrors, sha):
    paths = ["pkg/mod.py", "pkg/old.py", "none.py"] * 40
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: mirrors.read_file(REPO, sha, path), paths))
    assert found == [b"VALUE = 1\n", b"print 'python 2'\n", None] * 40


def test_a_conversation_that_was_ended_begins_anew(mirrors, sha):
    mirrors.read_file(REPO, sha, "pkg/mod.py")
    for pid in _children():
        os.kill(pid, signal.SIGKILL)
    while True:
        try:
            assert mirrors.read_file(REPO, sha, "pkg/mod.py") == b"VALUE = 1\n"
        except GitFailed:
            continue
        break
    assert mirrors.read_file(REPO, sha, "pkg/mod.py") == b"VALUE = 1\n"


def _children():
    found = (tree.member(process.pid) for process in tree.everyone() if process.parent == os.getpid())
    return {
        process.pid for process in found if process and b"cat-file" in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    }
