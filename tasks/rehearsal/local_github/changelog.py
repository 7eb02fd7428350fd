"""Which issues a change log says that a commit is about: what a pull request's own text would have said.

Two habits are known: a file of its own for each change, named after the issue (`changelog/1234.bugfix.rst`), and lines
of one file with the issue's number (`:issue:`1234``). Where GitHub's text of a pull request is not to be had, that is
all there is, and the text says where it comes from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tasks.rehearsal.local_github.history import RepositoryHistory
from tasks.rehearsal.local_github.pulls import Pull

_FOLDERS = ("changelog", "changelog.d", "changes", "docs/changes", "news", "newsfragments")
_FILES = ("CHANGES.rst", "CHANGES.md", "CHANGES", "docs/changelog.rst")
_FRAGMENT = re.compile(r"^(?:\S+/)?(\d+)\.\w+(?:\.\d+)?(?:\.(?:rst|md|txt))?$", re.MULTILINE)
_ENTRY = re.compile(r"^\+.*:issue:`(\d+)`", re.MULTILINE)


def with_changelog(history: RepositoryHistory, pulls: tuple[Pull, ...]) -> tuple[Pull, ...]:
    """The pull requests, with what their change log entries say that they close at the end of their texts."""
    told = mentions(history)
    numbers = frozenset(pull.number for pull in pulls)
    made = []
    for pull in pulls:
        oids = [pull.merge.oid, *(commit.oid for commit in pull.commits)]
        named = sorted({number for oid in oids for number in told.get(oid, ())} - numbers)
        closes = "".join(f"\n\nAccording to its change log entry, this closes #{number}." for number in named)
        made.append(replace(pull, body=f"{pull.body}{closes}".strip()))
    return tuple(made)


def mentions(history: RepositoryHistory) -> Mapping[str, frozenset[int]]:
    """Commit → numbers that its additions to a change log name."""
    found: defaultdict[str, frozenset[int]] = defaultdict(frozenset)
    for oid, text in _log(history, "--diff-filter=A", "--name-only", paths=_FOLDERS):
        found[oid] |= _numbers(_FRAGMENT, text)
    for oid, text in _log(history, "--patch", "--unified=0", paths=_FILES):
        found[oid] |= _numbers(_ENTRY, text)
    return found


def _log(history: RepositoryHistory, *options: str, paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Commit and what `git log` says of it; merges have nothing of their own."""
    log = history.git.run("-C", str(history.folder), "log", "--format=%x1e%H", *options, history.head, "--", *paths)
    for record in log.decode("utf-8", "replace").split("\x1e")[1:]:
        oid, _, text = record.partition("\n")
        yield oid, text


def _numbers(pattern: re.Pattern[str], text: str) -> frozenset[int]:
    return frozenset(int(number) for number in pattern.findall(text))
