"""Which issues a pull request closes: the union of everything that says so, each link with what says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tasks.domain.collect import Issue, IssueLink, LinkSource, PullRequest, RepositoryState
from tasks.domain.names import RepoName
from tasks.scrape.keywords import Mention, closing_mentions

Target = tuple[RepoName, int]
"""An issue's repository and number."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the numbers of the repositories at hand, and of what closed their issues."""

    opened: Mapping[Target, datetime]
    """Issues, and when they were opened."""
    pulls: frozenset[Target]
    """Pull requests. A number that is in neither was not asked for yet, or is not there."""
    closed_by: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    """`owner/name#number` or `owner/name@sha` → the issues that it closed."""
    names: Mapping[str, RepoName] = field(default_factory=dict)
    """What a repository is called now, in small letters → what we call it: GitHub answers under either name."""


def known_of(
    pulls: Iterable[PullRequest],
    issues: Iterable[Issue],
    other_pulls: Iterable[Target] = (),
    states: Iterable[RepositoryState] = (),
) -> Known:
    """An index of the rows at hand; `other_pulls` are pull requests without a row."""
    names = {state.name_now.lower(): state.repo for state in states}
    opened: dict[Target, datetime] = {}
    closed_by: dict[str, list[Target]] = defaultdict(list)
    for issue in issues:
        opened[issue.repo, issue.number] = issue.created_at
        for closer in issue.closers:
            where, sign, what = closer.lower().partition("@" if "@" in closer else "#")
            closed_by[f"{names.get(where, where).lower()}{sign}{what}"].append((issue.repo, issue.number))
    numbers = frozenset((*other_pulls, *((pull.repo, pull.number) for pull in pulls)))
    return Known(opened, numbers, {closer: tuple(targets) for closer, targets in closed_by.items()}, names)


def links_of(pull: PullRequest, known: Known) -> tuple[IssueLink, ...]:
    """The links of one pull request, in the order in which they were found; closing references come first."""
    sources: dict[Target, list[LinkSource]] = {}
    pull_addresses: set[Target] = set()
    for source, target, is_pull in _said(pull, known):
        sources.setdefault(target, [])
        if source not in sources[target]:
            sources[target].append(source)
        if is_pull:
            pull_addresses.add(target)
    return tuple(
        _link(pull, target, tuple(found), known, is_pull=target in pull_addresses or target in known.pulls)
        for target, found in sources.items()
        if target != (pull.repo, pull.number)
    )


def _said(pull: PullRequest, known: Known) -> Iterator[tuple[LinkSource, Target, bool]]:
    """Source, issue, and whether its address is a pull request's."""
    for reference in pull.closing_references:
        where, _, number = reference.rpartition("#")
        yield LinkSource.CLOSING_REFERENCE, (_our_name(where, pull.repo, known), int(number)), False
    for closer in _closers(pull):
        for target in known.closed_by.get(closer.lower(), ()):
            yield LinkSource.CLOSED_EVENT, target, False
    texts = ((LinkSource.TITLE, pull.title), (LinkSource.BODY, pull.body))
    messages = ((LinkSource.COMMIT_MESSAGE, message) for message in (*pull.commit_messages, pull.merge_message))
    for source, text in (*texts, *messages):
        for mention in closing_mentions(text):
            yield source, _target(mention, pull.repo, known), mention.is_pull_request


def _closers(pull: PullRequest) -> Iterator[str]:
    yield f"{pull.repo}#{pull.number}"
    for commit in (*pull.commit_ids, *([pull.merge_commit] if pull.merge_commit else [])):
        yield f"{pull.repo}@{commit}"


def _target(mention: Mention, repo: RepoName, known: Known) -> Target:
    return (repo if mention.repo is None else _our_name(mention.repo, repo, known)), mention.number


def _our_name(where: str, repo: RepoName, known: Known) -> RepoName:
    """GitHub's names do not tell case apart: ours for the repository itself, others as they are written."""
    return repo if where.lower() == repo.lower() else known.names.get(where.lower(), RepoName(where))


def _link(
    pull: PullRequest, target: Target, sources: tuple[LinkSource, ...], known: Known, *, is_pull: bool
) -> IssueLink:
    opened = known.opened.get(target)
    return IssueLink(
        repo=pull.repo,
        number=pull.number,
        issue_repo=target[0],
        issue=target[1],
        sources=sources,
        known=opened is not None,
        is_pull_request=is_pull,
        opened_after=opened is not None and opened > pull.created_at,
        other_repository=target[0] != pull.repo,
    )
