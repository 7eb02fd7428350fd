"""Which commit did a pull request change? Proved from a mirror against the files and counts that GitHub lists.

Not the `base` that GitHub names: that is the tip of a branch at some moment. Candidates for the base follow from how
the pull request was merged; the first one whose difference has the same files with the same counts is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.adapters.git.changes import Changes, Commit, Count, Counts, Range
from tasks.domain.collect import MergeKind, PullBase, PullRequest
from tasks.domain.names import Sha

MAX_STEPS = 100
"""How far before a merge commit with one parent the base is looked for."""

Graph = Mapping[Sha, Commit]


@dataclass(frozen=True, slots=True)
class BaseCandidate:
    """A base that could be, and what it would say about the merge."""

    change: Range
    kind: MergeKind


def prove(pulls: Sequence[PullRequest], changes: Changes, graph: Graph) -> tuple[PullBase, ...]:
    """One row for each pull request, all of one repository, in their order. Asks git twice, however many there are."""
    problems = {pull.number: _problem(pull, graph) for pull in pulls}
    sound = [pull for pull in pulls if not problems[pull.number]]
    likely = {pull.number: tuple(_likely(pull, graph)) for pull in sound}
    proved = _first_equal(sound, likely, changes, graph)
    left = [pull for pull in sound if pull.number not in proved]
    further = {pull.number: tuple(_further(pull, graph, changes)) for pull in left}
    proved |= _first_equal(left, further, changes, graph)
    return tuple(
        _row(pull, (*likely.get(pull.number, ()), *further.get(pull.number, ())), proved, problems, graph)
        for pull in pulls
    )


def listed(pull: PullRequest) -> Counts:
    """GitHub's file list as counts."""
    counts = map(Count, pull.path_additions, pull.path_deletions)
    return dict(zip(pull.paths, counts, strict=True))


def _problem(pull: PullRequest, graph: Graph) -> str:
    """Why nothing can be proved; empty where it can be tried."""
    if pull.merge_commit is None:
        return "no-merge-commit"
    if pull.merge_commit not in graph or not graph[pull.merge_commit].parents:
        return "not-in-mirror"
    return "" if len(pull.paths) == pull.changed_files else "list-incomplete"


def _likely(pull: PullRequest, graph: Graph) -> Iterator[BaseCandidate]:
    """The candidate that is nearly always right."""
    merge = _merge(pull)
    parents = graph[merge].parents
    if len(parents) > 1:
        yield BaseCandidate(Range(parents[0], merge), MergeKind.MERGE)
    elif merge == pull.head_commit:
        for base in _before_the_branch(pull, graph):
            yield BaseCandidate(Range(base, merge), MergeKind.FAST_FORWARD)
    else:
        yield BaseCandidate(Range(parents[0], merge), MergeKind.SQUASH)


def _further(pull: PullRequest, graph: Graph, changes: Changes) -> Iterator[BaseCandidate]:
    """Candidates for what a conflict, an earlier equal change or a rebase leaves."""
    merge = _merge(pull)
    parents = graph[merge].parents
    if len(parents) > 1:
        base = changes.merge_base(parents[0], parents[1])
        if base is not None:
            yield BaseCandidate(Range(base, parents[1]), MergeKind.MERGE)
        return
    kind = MergeKind.FAST_FORWARD if merge == pull.head_commit else MergeKind.REBASE
    for base in _steps_back(merge, min(pull.commits, MAX_STEPS), graph):
        yield BaseCandidate(Range(base, merge), kind)


def _before_the_branch(pull: PullRequest, graph: Graph) -> tuple[Sha, ...]:
    """The first commit's parent, from the mirror where it has that commit."""
    first = graph.get(pull.first_commit) if pull.first_commit else None
    parents = first.parents if first else pull.first_commit_parents
    return tuple(parent for parent in parents[:1] if parent in graph)


def _steps_back(merge: Sha, steps: int, graph: Graph) -> Iterator[Sha]:
    at = merge
    for _ in range(steps):
        commit = graph.get(at)
        if commit is None or not commit.parents or commit.parents[0] not in graph:
            return
        at = commit.parents[0]
        yield at


def _first_equal(
    pulls: Iterable[PullRequest], candidates: Mapping[int, Sequence[BaseCandidate]], changes: Changes, graph: Graph
) -> dict[int, BaseCandidate]:
    """Pull request → the first of its candidates that GitHub's counts agree with."""
    trees = {
        one: (graph[one.change.base].tree, graph[one.change.fixed].tree) for some in candidates.values() for one in some
    }
    found = changes.counts(trees.values())
    equal: dict[int, BaseCandidate] = {}
    for pull in pulls:
        wanted = listed(pull)
        fitting = (one for one in candidates[pull.number] if found[trees[one]] == wanted)
        if (first := next(fitting, None)) is not None:
            equal[pull.number] = first
    return equal


def _row(
    pull: PullRequest,
    candidates: Sequence[BaseCandidate],
    proved: Mapping[int, BaseCandidate],
    problems: Mapping[int, str],
    graph: Graph,
) -> PullBase:
    accepted = proved.get(pull.number)
    tried = [one.change.base for one in candidates]
    if accepted is not None:
        tried = tried[: candidates.index(accepted) + 1]
    return PullBase(
        repo=pull.repo,
        number=pull.number,
        kind=accepted.kind if accepted else None,
        base_commit=accepted.change.base if accepted else None,
        fixed_commit=accepted.change.fixed if accepted else None,
        base_verified="numstat" if accepted else "",
        reason="" if accepted else problems[pull.number] or "counts-differ",
        tried=tuple(tried),
        committed_at=graph[accepted.change.base].committed_at if accepted else None,
        patch_id="",
        reverse_patch_id="",
    )


def _merge(pull: PullRequest) -> Sha:
    assert pull.merge_commit is not None
    return pull.merge_commit
