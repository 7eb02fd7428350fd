"""Are our base commits, patch halves and issue links those of SWE-bench, for the rows whose repository is mirrored?

    python -m benchmarks.proved_bases ROWS.jsonl … --mirrors FOLDER [--different]

GitHub itself is not asked. The merge commit is found by its message, by the branch that it merged, or else by the lines
of the golden patch. GitHub's file list is what it shows of a branch: the difference between its head and where it left
the default branch, where the mirror has the branch (`refs/pull/*/head`). Where it has not, the row's two patches are
GitHub's diff, without most files that are no Python; those are taken from the merge commit. The base is then proved as
in a rebuild, and the diff against it cut and replayed.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from unidiff.patch import PatchSet

from tasks.adapters.git.changes import Changes, Commit, Count, Counts, Range
from tasks.adapters.git.command import GitFailed
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.read import to_text
from tasks.domain.collect import PullBase, PullRequest, Repository
from tasks.domain.errors import NotFound
from tasks.domain.names import RepoName, RepoPath, Sha, parse_instance_id
from tasks.filter.base import listed, prove
from tasks.filter.paths import is_test
from tasks.filter.screen import split_diff
from tasks.scrape.keywords import closing_mentions
from tasks.scrape.repositories import read_repositories

Row = Mapping[str, Any]
Graph = Mapping[Sha, Commit]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_CANDIDATES = 400
NAMED = 5
"""Files that a reason names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One row, theirs against ours. The texts are `equal` or what the difference is."""

    instance_id: str
    kind: str
    base: str
    split: str
    reproduces: str
    link: str


@dataclass(frozen=True, slots=True)
class Bench:
    """One mirror, loaded once."""

    repository: Repository
    changes: Changes
    graph: Graph
    merges: Mapping[int, Sha]
    """Pull request → the oldest commit whose message names it the way GitHub's merges do."""
    heads: Mapping[int, Sha]


def main(
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows: JSON lines.")],
    mirrors: Annotated[Path, typer.Option(help="Folder with bare mirrors `<owner>__<name>.git`.")],
    repositories: Annotated[Path, typer.Option(help="The list of repositories.")] = Path("data/repositories.toml"),
    different: Annotated[bool, typer.Option(help="Also print every row that differs.")] = False,
) -> None:
    """Print a table for each repository, and the reasons of what differs."""
    known = {repository.repo: repository for repository in read_repositories(repositories)}
    by_repo: dict[str, dict[str, Row]] = defaultdict(dict)
    for path in rows:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            by_repo[row["repo"]][row["instance_id"]] = row
    compared: list[Compared] = []
    for repo, some in sorted(by_repo.items()):
        try:
            bench = _bench(Changes(Mirrors(mirrors), RepoName(repo)), known[RepoName(repo)])
        except NotFound:
            typer.echo(f"{repo}: no mirror, {len(some)} rows left out", err=True)
            continue
        compared += [_compared(bench, row) for row in some.values()]
    for name in ("kind", "base", "split", "reproduces", "link"):
        _print(name, compared)
    if different:
        for one in compared:
            if (one.base, one.split) != ("equal", "equal"):
                typer.echo(f"{one.instance_id}: {one.kind}; base {one.base}; split {one.split}")


def _print(name: str, compared: Iterable[Compared]) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in compared:
        repo, _ = parse_instance_id(one.instance_id)
        value = re.sub(r" *\(.*\)", "", getattr(one, name))
        counts[value][repo] += 1
        counts[value]["all"] += 1
    typer.echo(f"\n{name}")
    for value, per in sorted(counts.items(), key=lambda item: -item[1]["all"]):
        parts = ", ".join(f"{repo.split('/')[1]} {n}" for repo, n in sorted(per.items()) if repo != "all")
        typer.echo(f"  {per['all']:4}  {value}   ({parts})")


def _bench(changes: Changes, repository: Repository) -> Bench:
    graph = changes.graph()
    heads = {
        int(ref.split("/")[2]): Sha(sha)
        for sha, ref in (line.split() for line in _git(changes, "for-each-ref", "--format=%(objectname) %(refname)"))
        if re.fullmatch(r"refs/pull/\d+/head", ref)
    }
    merges: dict[int, Sha] = {}
    for line in _git(changes, "log", "--all", "--format=%H %s"):
        sha, _, subject = line.partition(" ")
        named = re.match(r"Merge pull request #(\d+) ", subject) or re.search(r"\(#(\d+)\)$", subject)
        if named:
            merges[int(named[1])] = Sha(sha)
    return Bench(repository, changes, graph, merges, heads)


def _compared(bench: Bench, row: Row) -> Compared:
    """A copy of a repository may lack files of old commits."""
    try:
        return _compare(bench, row)
    except GitFailed as error:
        return _not_compared(row, f"the mirror lacks an object ({error})")


def _not_compared(row: Row, why: str) -> Compared:
    return Compared(instance_id=row["instance_id"], kind="-", base=why, split="-", reproduces="-", link="-")


def _compare(bench: Bench, row: Row) -> Compared:
    merge = _merge_commit(bench, row)
    if merge is None:
        return _not_compared(row, "merge commit not found")
    pull = _pull(bench, row, merge)
    (base,) = prove([pull], bench.changes, bench.graph)
    kind = base.kind.value if base.kind else base.reason
    same = base.base_commit == row["base_commit"]
    compared = Compared(
        instance_id=row["instance_id"],
        kind=kind,
        base="equal" if same else _why_other_base(bench, row, pull, base),
        split="-",
        reproduces="-",
        link=_link(pull),
    )
    if base.base_commit is None or base.fixed_commit is None:
        return compared
    change = Range(base.base_commit, base.fixed_commit)
    split = split_diff(bench.changes.patch(change), partial(is_test, repository=bench.repository))
    (whole,) = bench.changes.replay([(change, (split.source, split.tests))])
    why = _why_other_split(row, to_text(split.source), to_text(split.tests))
    return replace(compared, split=why, reproduces="yes" if whole else "no")


def _merge_commit(bench: Bench, row: Row) -> Sha | None:
    _, number = parse_instance_id(row["instance_id"])
    if number in bench.merges:
        return bench.merges[number]
    head = bench.heads.get(number)
    merged = [sha for sha, commit in bench.graph.items() if head in commit.parents[1:]]
    return merged[-1] if merged else _by_patch(bench, row)


def _by_patch(bench: Bench, row: Row) -> Sha | None:
    """The first commit after their base whose difference holds the changed lines of the golden patch."""
    if row["base_commit"] not in bench.graph:
        return None
    wanted = _changed_lines(row["patch"])
    log = ("log", "--reverse", "--format=%H", f"{row['base_commit']}..HEAD", "--", *wanted)
    for sha in [Sha(line) for line in _git(bench.changes, *log)][:MOST_CANDIDATES]:
        parents = bench.graph[sha].parents
        if len(parents) == 1:
            found = _changed_lines(to_text(bench.changes.patch(Range(parents[0], sha))))
            if all(found.get(path) == lines for path, lines in wanted.items()):
                return sha
    return None


def _pull(bench: Bench, row: Row, merge: Sha) -> PullRequest:
    """What GitHub would list of the pull request, as far as its diff and git know it."""
    _, number = parse_instance_id(row["instance_id"])
    parents = bench.graph[merge].parents
    head = bench.heads.get(number) or (parents[1] if len(parents) > 1 else None)
    branch = _git(bench.changes, "rev-list", "--reverse", f"{parents[0]}..{head}") if head else []
    messages = [_message(bench, Sha(sha)) for sha in branch]
    files = _shown(bench, head, parents[0]) if head else _told(bench, row, Range(parents[0], merge))
    return PullRequest(
        repo=bench.repository.repo,
        number=number,
        title="",
        body="",
        author=None,
        author_kind="",
        labels=(),
        created_at=EPOCH,
        merged_at=EPOCH,
        updated_at=EPOCH,
        base_branch=bench.repository.default_branch,
        head_commit=head or Sha(""),
        merge_commit=merge,
        first_commit=Sha(branch[0]) if branch else None,
        first_commit_parents=(),
        begun_at=EPOCH,
        commits=max(1, len(branch)),
        commit_ids=tuple(Sha(sha) for sha in branch),
        commit_messages=tuple(messages),
        merge_message=_message(bench, merge),
        changed_files=len(files),
        additions=sum(count.added for count in files.values()),
        deletions=sum(count.removed for count in files.values()),
        paths=tuple(files),
        path_additions=tuple(count.added for count in files.values()),
        path_deletions=tuple(count.removed for count in files.values()),
        path_changes=tuple("modified" for _ in files),
        closing_references=(),
        complete=True,
    )


def _shown(bench: Bench, head: Sha, trunk: Sha) -> Counts:
    """What GitHub shows of a branch."""
    left_at = bench.changes.merge_base(trunk, head)
    assert left_at is not None
    pair = (bench.graph[left_at].tree, bench.graph[head].tree)
    return bench.changes.counts([pair])[pair]


def _told(bench: Bench, row: Row, merged: Range) -> Counts:
    """The row's own files and counts, and the merge commit's for files that are no Python."""
    pair = (bench.graph[merged.base].tree, bench.graph[merged.fixed].tree)
    other = {path: count for path, count in bench.changes.counts([pair])[pair].items() if not path.endswith(".py")}
    files = PatchSet(row["patch"] + "\n" + row["test_patch"])
    return other | {RepoPath(file.path): Count(file.added, file.removed) for file in files}


def _link(pull: PullRequest) -> str:
    """What the messages in git say; the title, the body and GitHub's own list are not in git."""
    found = [mention for text in (*pull.commit_messages, pull.merge_message) for mention in closing_mentions(text)]
    return f"{len(set(found))} in commit messages" if found else "none in commit messages"


def _why_other_base(bench: Bench, row: Row, pull: PullRequest, base: PullBase) -> str:
    if base.base_commit is None:
        return f"not proved: {base.reason} ({_other_counts(bench, pull)})"
    theirs = Sha(row["base_commit"])
    if theirs not in bench.graph:
        return "theirs is not in the mirror"
    if _is_ancestor(bench, theirs, base.base_commit):
        return f"theirs is an older tip of the branch ({_distance(bench, theirs, base.base_commit)} commits)"
    if _is_ancestor(bench, base.base_commit, theirs):
        return f"theirs is a later tip of the branch ({_distance(bench, base.base_commit, theirs)} commits)"
    return "theirs is on another line of history"


def _other_counts(bench: Bench, pull: PullRequest) -> str:
    """The files that the merge commit changed otherwise than the pull request did."""
    assert pull.merge_commit is not None
    pair = (bench.graph[bench.graph[pull.merge_commit].parents[0]].tree, bench.graph[pull.merge_commit].tree)
    merged, shown = bench.changes.counts([pair])[pair], listed(pull)
    changed = [path for path in shown if merged.get(path) != shown[path]]
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return "merged otherwise: " + ", ".join(changed[:NAMED]) + more


def _why_other_split(row: Row, source: str, tests: str) -> str:
    ours = (_changed_lines(source), _changed_lines(tests))
    theirs = (_changed_lines(row["patch"]), _changed_lines(row["test_patch"]))
    if ours == theirs:
        return "equal"
    left_out = {path for path in ours[0] if path not in theirs[0] and not path.endswith(".py")}
    if ours == ({**theirs[0], **{path: ours[0][path] for path in left_out}}, theirs[1]):
        return f"equal, but theirs leaves out files that are no Python ({', '.join(sorted(left_out))})"
    moved = sorted(set(ours[0]) & set(theirs[1]))
    if moved:
        return f"theirs counts a source file as a test ({', '.join(moved)})"
    moved = sorted(set(ours[1]) & set(theirs[0]))
    if moved:
        return f"theirs counts a test file as source ({', '.join(moved)})"
    extra = sorted({*ours[0], *ours[1]} ^ {*theirs[0], *theirs[1]})
    return f"other files ({', '.join(extra)})" if extra else "same files, other lines"


def _changed_lines(patch: str) -> dict[str, list[str]]:
    """Path → its added and removed lines, in order."""
    return {
        file.path: [str(line) for hunk in file for line in hunk if line.is_added or line.is_removed]
        for file in PatchSet(patch)
    }


def _is_ancestor(bench: Bench, one: Sha, other: Sha) -> bool:
    return bench.changes.merge_base(one, other) == one


def _distance(bench: Bench, one: Sha, other: Sha) -> str:
    (count,) = _git(bench.changes, "rev-list", "--count", f"{one}..{other}")
    return count


def _message(bench: Bench, sha: Sha) -> str:
    return "\n".join(_git(bench.changes, "log", "-1", "--format=%B", sha))


def _git(changes: Changes, *args: str) -> list[str]:
    argv = ["git", "--git-dir", str(changes.mirrors.path(changes.repo)), *args]
    return subprocess.run(argv, check=True, capture_output=True, encoding="utf-8", errors="replace").stdout.splitlines()


if __name__ == "__main__":
    typer.run(main)
