"""Real base commits spread over the years: rows of SWE-bench files, and changes that a repository's history holds.

A change of the history counts where it names a pull request, changes Python files of both parts, and its tests add
a test function: most of these are fixes or features with a test that failed before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tasks.adapters.git.changes import Changes, Commit, Range
from tasks.adapters.git.command import Git
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.read import to_text
from tasks.domain.collect import Repository
from tasks.domain.names import RepoName, Sha
from tasks.filter.paths import is_test
from tasks.filter.screen import SplitDiff, split_diff

Row = dict[str, Any]
"""A row in the form of SWE-bench. `origin` says where it is from."""

FACTS = ("repo", "instance_id", "base_commit", "patch", "test_patch", "FAIL_TO_PASS")
"""What is kept of a row. Its `version` is not: that would be a part of a recipe."""
OLDEST = datetime(2015, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"Merge pull request #(\d+) |\(#(\d+)\)$")
_NEW_TEST = re.compile(r"^\+\s*(?:async )?def test_", re.MULTILINE)
_PYTHON = re.compile(r"^diff --git a/\S+\.py ", re.MULTILINE)

Item = TypeVar("Item")


def file_rows(mirrors: Mirrors, files: Iterable[Path], repos: Sequence[str], each: int) -> list[Row]:
    """At most `each` rows of every repository, first of those that list their F→P cases, evenly over the years."""
    found: dict[str, Row] = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = {name: value for name, value in json.loads(line).items() if name in FACTS and value}
            if row["repo"] in repos:
                found[row["instance_id"]] = found.get(row["instance_id"], {}) | row | {"origin": "dataset"}
    for row in found.values():
        row["created_at"] = mirrors.committed_at(row["repo"], row["base_commit"]).isoformat()
    ordered = sorted(found.values(), key=lambda row: str(row["created_at"]))
    return [row for repo in repos for row in _some([row for row in ordered if row["repo"] == repo], each)]


def _some(rows: Sequence[Row], each: int) -> list[Row]:
    listed = spread([row for row in rows if "FAIL_TO_PASS" in row], each)
    return listed + spread([row for row in rows if "FAIL_TO_PASS" not in row], each - len(listed))


def history_rows(mirrors: Mirrors, repository: Repository, each: int, oldest: datetime = OLDEST) -> list[Row]:
    """`each` changes of the default branch since `oldest`: one near the middle of each equal stretch of time."""
    changes = Changes(mirrors, repository.repo)
    graph = changes.graph()
    trunk = [named for named in _trunk(mirrors, repository.repo) if graph[named[1]].committed_at >= oldest]
    newest = max(graph[sha].committed_at for _, sha in trunk)
    step = (newest - oldest) / each
    rows = [_nearest(changes, repository, graph, trunk, oldest + step * (number + 0.5)) for number in range(each)]
    return list({row["instance_id"]: row for row in rows if row}.values())


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """`count` of the items at equal distances, first and last among them; the first where only one is asked for."""
    if len(items) <= count:
        return list(items)
    return [items[round(number * (len(items) - 1) / max(1, count - 1))] for number in range(count)]


def _trunk(mirrors: Mirrors, repo: RepoName) -> Iterator[tuple[int, Sha]]:
    """Pull request and commit of what the default branch took in."""
    log = ("log", "--first-parent", "--format=%H %s", "HEAD")
    done = Git(mirrors.root).run("--git-dir", str(mirrors.path(repo)), *log)
    for line in done.decode("utf-8", "replace").splitlines():
        sha, _, subject = line.partition(" ")
        if match := _NUMBER.search(subject):
            yield int(match[1] or match[2]), Sha(sha)


def _nearest(
    changes: Changes,
    repository: Repository,
    graph: dict[Sha, Commit],
    trunk: Sequence[tuple[int, Sha]],
    moment: datetime,
) -> Row | None:
    """The change nearest to `moment` that has both parts."""
    by_distance = sorted(trunk, key=lambda named: abs(graph[named[1]].committed_at - moment))
    test: Callable[[str], bool] = partial(is_test, repository=repository)
    for number, sha in by_distance:
        base = graph[sha].parents[0]
        split = split_diff(changes.patch(Range(base, sha)), test)
        if _is_testable(split):
            return _row(repository.repo, number, base, graph[sha].committed_at, split)
    return None


def _is_testable(split: SplitDiff) -> bool:
    return bool(_PYTHON.search(to_text(split.source)) and _NEW_TEST.search(to_text(split.tests)))


def _row(repo: RepoName, number: int, base: Sha, moment: datetime, split: SplitDiff) -> Row:
    return {
        "repo": repo,
        "instance_id": f"{repo.replace('/', '__')}-{number}",
        "base_commit": base,
        "patch": to_text(split.source),
        "test_patch": to_text(split.tests),
        "created_at": moment.isoformat(),
        "origin": "history",
    }
