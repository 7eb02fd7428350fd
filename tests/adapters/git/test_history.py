"""What one commit's history knows of other commits and of pull requests."""

from pathlib import Path

import pytest
from scratch_git import git

from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors

REPO = "owner/name"


@pytest.fixture
def shas(source: Path, mirrors: Mirrors) -> dict[str, str]:
    """Commits in order: first, base, later; `side` is on another branch."""
    found = {"first": git(source, "rev-parse", "HEAD")}
    for name, message in (("base", "Merge pull request #12 from x/y"), ("later", "Fix it (#345)")):
        git(source, "commit", "--quiet", "--allow-empty", "-m", message)
        found[name] = git(source, "rev-parse", "HEAD")
    git(source, "checkout", "--quiet", "-b", "side", found["first"])
    git(source, "commit", "--quiet", "--allow-empty", "-m", "side")
    found["side"] = git(source, "rev-parse", "HEAD")
    mirrors.add(REPO, source)
    return found


def test_commits_of_the_history_and_others(mirrors: Mirrors, shas: dict[str, str]) -> None:
    history = CommitHistory(mirrors, REPO, shas["base"])
    told = {name: (history.holds(sha), history.holds(sha[:9])) for name, sha in shas.items()}
    assert told == {"first": (True, True), "base": (True, True), "later": (False, False), "side": (False, False)}
    assert history.holds("1" * 40) is None
    tree = git(mirrors.path(REPO), "rev-parse", f"{shas['base']}^{{tree}}")
    assert history.holds(tree) is None


def test_pull_requests_that_landed(mirrors: Mirrors, shas: dict[str, str]) -> None:
    base, later = CommitHistory(mirrors, REPO, shas["base"]), CommitHistory(mirrors, REPO, shas["later"])
    assert [base.landed(number) for number in (12, 1, 345)] == [True, False, False]
    assert [later.landed(number) for number in (12, 345, 34)] == [True, True, False]
