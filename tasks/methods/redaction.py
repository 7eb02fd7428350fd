"""Find, remove and count pointers to the fix in an issue's text.

A reporter may name earlier commits and pull requests ("broken since 1a2b3c4"), which are part of the issue. Names that
`KnownHistory` finds before the base commit stay. Later ones are removed. Links into the repository or a fork are
removed too if the history does not know their target.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tasks.domain.guards import Redaction
from tasks.domain.instance import TaskInstance
from tasks.domain.names import parse_instance_id

TEXT_CHARACTERS = 300


class KnownHistory(Protocol):
    """The history of the base commit."""

    def holds(self, sha: str) -> bool | None:
        """Whether a commit, full or abbreviated, is in the history. False for a later commit, None for an unknown
        one."""

    def landed(self, number: int) -> bool:
        """Whether a commit in the history names the pull request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A pointer to the fix, as a half-open range of characters."""

    start: int
    end: int
    rule: str
    removed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """Input of the rules."""

    text: str
    name: str
    """Name of the repository without its owner: forks and former owners count as the repository."""
    number: int | None
    """Number of the pull request that fixes the issue."""
    history: KnownHistory


Rule = Callable[[IssueText], Iterator[Pointer]]

_URL = re.compile(r"https?://[^\s<>\"'`\])}]+")
_PULL = re.compile(r"/(?:pull|pulls|merge_requests|pull-requests)/(?P<number>\d{1,18})(?!\d)")
_COMMIT = re.compile(r"/commits?/(?P<sha>[0-9a-fA-F]{7,40})\b")
_COMPARE = re.compile(r"/compare/")
_PATCH = re.compile(r"\.(?:diff|patch)(?:[?#].*)?$")
_SHA = re.compile(r"(?<![\w./-])(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}(?![\w-])")
_URL_SHA = re.compile(r"/(?P<sha>[0-9a-f]{7,40})(?=[/#.?]|$)")
_REFERENCE = re.compile(r"(?<![\w&/#])(?:(?<![.-])(?P<repo>[\w.-]+/[\w.-]+))?(?:#|\bGH-)(?P<number>\d{1,18})\b")
_NAMED_PULL = re.compile(r"(?i)\b(?:PRs?|pull[ -]requests?|merge requests?|MR)[ :]{0,2}(?:#|!)?(?P<number>\d{2,18})\b")
_FIXED_BY = re.compile(
    r"(?i)\b(?:fixed|solved|resolved|addressed|closed|superseded|patched)\s+(?:already\s+)?(?:by|in|with|via|through)\s+"
    r"(?P<what>(?:the\s+)?(?:PR\s*|pull request\s*)?#(?P<number>\d{1,18}))\b"
)
_DIFF = re.compile(r"^--- [^\n]+\n\+\+\+ [^\n]+\n@@ ", re.MULTILINE)


def _urls(source: IssueText) -> Iterator[re.Match[str]]:
    """Yields links into the repository or a fork of it."""
    own = re.compile(rf"https?://[^/]+/(?:[^/]+/)?{re.escape(source.name)}(?:\.git)?(?:/|$)", re.IGNORECASE)
    return (match for match in _URL.finditer(source.text) if own.match(match[0]) or "githubusercontent" in match[0])


def pull_urls(source: IssueText) -> Iterator[Pointer]:
    for match in _urls(source):
        if (pull := _PULL.search(match[0])) and not _landed(source, pull["number"]):
            yield Pointer(start=match.start(), end=match.end(), rule="pull-url")


def commit_urls(source: IssueText) -> Iterator[Pointer]:
    for match in _urls(source):
        if (commit := _COMMIT.search(match[0])) and not source.history.holds(commit["sha"].lower()):
            yield Pointer(start=match.start(), end=match.end(), rule="commit-url")


def compare_urls(source: IssueText) -> Iterator[Pointer]:
    for match in _urls(source):
        if _COMPARE.search(match[0]):
            yield Pointer(start=match.start(), end=match.end(), rule="compare-url")


def patch_files(source: IssueText) -> Iterator[Pointer]:
    """Yields patch files on any site, because patches are also attached to tickets and pasted in gists."""
    for match in _URL.finditer(source.text):
        if _PATCH.search(match[0].rstrip(".,;:!")):
            yield Pointer(start=match.start(), end=match.end(), rule="patch-file")


def later_urls(source: IssueText) -> Iterator[Pointer]:
    """Yields the commit in links to files of a later or other version. The file's path and line stay."""
    for match in _urls(source):
        for sha in _URL_SHA.finditer(match[0]):
            if source.history.holds(sha["sha"]) is False:
                yield Pointer(
                    start=match.start() + sha.start("sha"), end=match.start() + sha.end("sha"), rule="later-url"
                )


def pull_numbers(source: IssueText) -> Iterator[Pointer]:
    """Yields the fix's own number in any notation, and other numbers called pull requests that are not in the
    history."""
    for match in _REFERENCE.finditer(source.text):
        own = match["repo"] is None or match["repo"].partition("/")[2].lower() == source.name.lower()
        if own and source.number is not None and int(match["number"]) == source.number:
            yield Pointer(start=match.start(), end=match.end(), rule="pull-number")
    for match in _NAMED_PULL.finditer(source.text):
        if not _landed(source, match["number"]):
            yield Pointer(start=match.start(), end=match.end(), rule="pull-number")


def fixed_by(source: IssueText) -> Iterator[Pointer]:
    for match in _FIXED_BY.finditer(source.text):
        if not _landed(source, match["number"]):
            yield Pointer(start=match.start("what"), end=match.end("what"), rule="fixed-by")


def later_commits(source: IssueText) -> Iterator[Pointer]:
    for match in _SHA.finditer(source.text):
        if source.history.holds(match[0]) is False:
            yield Pointer(start=match.start(), end=match.end(), rule="later-commit")


def quoted_patches(source: IssueText) -> Iterator[Pointer]:
    for match in _DIFF.finditer(source.text):
        yield Pointer(start=match.start(), end=match.end(), rule="quoted-patch", removed=False)


RULES: tuple[Rule, ...] = (
    pull_urls,
    commit_urls,
    compare_urls,
    patch_files,
    later_urls,
    fixed_by,
    pull_numbers,
    later_commits,
    quoted_patches,
)
"""In order of precedence: if two rules match overlapping places, the earlier rule counts."""


def find_pointers(instance: TaskInstance, history: KnownHistory) -> tuple[Pointer, ...]:
    """Returns the pointers to the fix in the issue's text, ordered and without overlaps."""
    source = IssueText(
        text=instance.problem_statement,
        name=instance.repo.partition("/")[2],
        number=_number(instance),
        history=history,
    )
    found: list[Pointer] = []
    for rule in RULES:
        for place in rule(source):
            if all(place.end <= other.start or other.end <= place.start for other in found):
                found.append(place)
    return tuple(sorted(found, key=lambda place: place.start))


def redacted(text: str, places: tuple[Pointer, ...]) -> str:
    """Returns `text` with a placeholder for each removed pointer."""
    for place in reversed([place for place in places if place.removed]):
        text = f"{text[: place.start]}[redacted: {place.rule}]{text[place.end :]}"
    return text


def redaction_rows(instance: TaskInstance, places: tuple[Pointer, ...]) -> tuple[Redaction, ...]:
    text = instance.problem_statement
    return tuple(
        Redaction(
            snapshot=instance.snapshot,
            instance_id=instance.instance_id,
            instance_key=instance.instance_key,
            rule=place.rule,
            line=text.count("\n", 0, place.start) + 1,
            text=text[place.start : place.end][:TEXT_CHARACTERS],
            removed=place.removed,
        )
        for place in places
    )


def _number(instance: TaskInstance) -> int | None:
    try:
        return parse_instance_id(instance.instance_id)[1]
    except ValueError:
        return None


def _landed(source: IssueText, number: str) -> bool:
    return int(number) != source.number and source.history.landed(int(number))
