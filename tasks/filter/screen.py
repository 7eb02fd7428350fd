"""One repository's pull requests through all rules: what is proved, what is rejected and why, what is left."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise

from tasks.adapters.git.changes import Changes, Range
from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch, to_text
from tasks.adapters.store.files.schema import to_arrow
from tasks.domain.collect import Issue, IssueLink, PullBase, PullRequest, Rejection, Repository, RepositoryState
from tasks.domain.errors import TerminalError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import SnapshotName, instance_id
from tasks.filter.base_commit import prove
from tasks.filter.facts import Inputs, PullKey, pull_table, rejections
from tasks.filter.paths import is_test
from tasks.filter.rules import RULES, Rule, RuleLimits
from tasks.filter.statement import ProblemStatement, statement_before

_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
"""Starts a file: inside of hunks every line starts with a sign, inside of binary data no line has a blank."""

SOURCE = "pull requests"
"""`source` of the instances that are made here."""

_REPLAY = tuple(rule for rule in RULES if rule.name == "patch_reproduces")
_BEFORE_REPLAY = tuple(rule for rule in RULES if rule not in _REPLAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The rows of one repository."""

    repository: Repository
    pulls: Sequence[PullRequest]
    issues: Iterable[Issue]
    links: Sequence[IssueLink]
    states: Sequence[RepositoryState] = ()
    """What GitHub says of the repository; empty where it was not asked."""
    since: datetime | None = None
    """The day from which on pull requests are asked for; None where all are. Older ones come with pages of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What the rules made of it."""

    bases: tuple[PullBase, ...]
    rejections: tuple[Rejection, ...]
    instances: tuple[TaskInstance, ...]


def screen(material: Material, changes: Changes, limits: RuleLimits, *, snapshot: str) -> Screened:
    """Every pull request either has rejections or is an instance of `snapshot`."""
    statements = statements_of(material)
    bases = with_patch_ids(prove(material.pulls, changes, changes.graph()), material, changes)
    ask = partial(_rejections, material, bases, statements, limits)
    rejected = ask(material.pulls, {}, _BEFORE_REPLAY)
    out = {row.number for row in rejected}
    left = [pull for pull in material.pulls if pull.number not in out]
    splits = _splits(left, bases, material.repository, changes)
    cases = [(_range(base), splits[base.number]) for base in bases if base.number in splits]
    replayed = changes.replay([(change, (both.source, both.tests)) for change, both in cases])
    reproduces = {(material.repository.repo, number): equal for number, equal in zip(splits, replayed, strict=True)}
    other_tree = ask(left, reproduces, _REPLAY)
    out |= {row.number for row in other_tree}
    instances = tuple(
        _instance(pull, base, splits[pull.number], statements[pull.repo, pull.number], snapshot)
        for pull, base in zip(material.pulls, bases, strict=True)
        if pull.number not in out
    )
    return Screened(bases=bases, rejections=(*rejected, *other_tree), instances=instances)


def statements_of(material: Material) -> dict[PullKey, ProblemStatement]:
    """The statement of every pull request that has a usable link."""
    issues = {issue.number: issue for issue in material.issues}
    linked: dict[int, list[Issue]] = defaultdict(list)
    for link in material.links:
        if link.usable and link.issue in issues:
            linked[link.number].append(issues[link.issue])
    return {
        (pull.repo, pull.number): statement_before(linked[pull.number], pull.begun_at)
        for pull in material.pulls
        if pull.number in linked
    }


def with_patch_ids(bases: Sequence[PullBase], material: Material, changes: Changes) -> tuple[PullBase, ...]:
    """`bases` with the patch ids of those that change tests and other files: only these can repeat or undo a fix."""
    pulls = {pull.number: pull for pull in material.pulls}
    ranges = {
        base.number: _range(base)
        for base in bases
        if base.base_verified and _has_both(pulls[base.number].paths, material.repository)
    }
    forward, reverse = (changes.patch_ids(ranges.values(), reverse=back) for back in (False, True))
    return tuple(
        replace(base, patch_id=forward.get(change, ""), reverse_patch_id=reverse.get(change, ""))
        if (change := ranges.get(base.number))
        else base
        for base in bases
    )


def _has_both(paths: Iterable[str], repository: Repository) -> bool:
    return len({is_test(path, repository) for path in paths}) == 2


def _rejections(
    material: Material,
    bases: Sequence[PullBase],
    statements: Mapping[PullKey, ProblemStatement],
    limits: RuleLimits,
    pulls: Sequence[PullRequest],
    reproduces: Mapping[PullKey, bool],
    rules: Sequence[Rule],
) -> tuple[Rejection, ...]:
    inputs = Inputs(
        pulls=pull_table(pulls),
        links=to_arrow(material.links, IssueLink),
        bases=to_arrow(bases, PullBase),
        repositories=(material.repository,),
        statement_words={key: len(statement.text.split()) for key, statement in statements.items()},
        reproduces=reproduces,
        states=material.states,
        since={material.repository.repo: material.since} if material.since else {},
    )
    return rejections(inputs, limits, rules)


def _splits(
    pulls: Iterable[PullRequest], bases: Iterable[PullBase], repository: Repository, changes: Changes
) -> dict[int, SplitDiff]:
    """Number → patch, in the order of `bases`."""
    numbers = {pull.number for pull in pulls}
    tests: Callable[[str], bool] = partial(is_test, repository=repository)
    return {base.number: split_diff(changes.patch(_range(base)), tests) for base in bases if base.number in numbers}


def _range(base: PullBase) -> Range:
    assert base.base_commit is not None
    assert base.fixed_commit is not None
    return Range(base.base_commit, base.fixed_commit)


def _instance(
    pull: PullRequest, base: PullBase, split: SplitDiff, statement: ProblemStatement, snapshot: str
) -> TaskInstance:
    """The version is left to whoever finds the environment; F2P and P2P are facts of a validation."""
    base_commit = _range(base).base
    patch, test_patch = to_text(split.source), to_text(split.tests)
    return TaskInstance(
        repo=pull.repo,
        instance_id=instance_id(pull.repo, pull.number),
        base_commit=base_commit,
        patch=patch,
        test_patch=test_patch,
        problem_statement=statement.text,
        hints_text=statement.hints,
        created_at=pull.created_at,
        version=None,
        FAIL_TO_PASS=None,
        PASS_TO_PASS=None,
        environment_setup_commit=None,
        snapshot=SnapshotName(snapshot),
        instance_key=TaskInstance.key_of(pull.repo, base_commit, patch, test_patch),
        source=SOURCE,
        problem_statement_mode=statement.mode.value,
    )


@dataclass(frozen=True, slots=True)
class SplitDiff:
    """Together the whole diff; each in its order. Empty where nothing is of that kind."""

    source: bytes
    tests: bytes


def split_diff(diff: bytes, is_test: Callable[[str], bool]) -> SplitDiff:
    """Cuts git's own diff into source and tests, without changing a byte.

    The diff has to be made without renames, so that each of its files has one path.

    A merge may change nothing of its first parent: then both are empty.
    """
    starts = [match.start() for match in _FILE.finditer(diff)]
    files = [diff[start:end] for start, end in pairwise((*starts, len(diff)))]
    in_tests = [is_test(_path(file)) for file in files]
    return SplitDiff(
        source=b"".join(file for file, test in zip(files, in_tests, strict=True) if not test),
        tests=b"".join(file for file, test in zip(files, in_tests, strict=True) if test),
    )


def _path(file: bytes) -> str:
    patch = read_patch(to_text(file))
    if isinstance(patch, Refused):
        raise TerminalError(f"git wrote a diff that cannot be read: {patch.detail}", hint="the mirror may be damaged")
    return patch.files[0].path
