"""What a change log says of issues: which ones a commit is about, and in which words.

Two habits are known: a file of its own for each change, named after the issue (`changelog/1234.bugfix.rst`), and
lines of one file with the issue's number (`:issue:`1234``, `:bug:`1234``, or `* #1234: …`). Where GitHub's texts are
not to be had, that and the messages of commits are all there is, and what is made of them says where it comes from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tests.fakes.local_github.history import RepositoryHistory
from tests.fakes.local_github.pulls import Pull

_FOLDERS = ("changelog", "changelog.d", "changes", "docs/changes", "doc/whatsnew/fragments", "news", "newsfragments")
_FILES = ("CHANGES.rst", "CHANGES.md", "CHANGES", "docs/changelog.rst")
_COMMIT = re.compile(r"^\x1e([0-9a-f]{40,64})$", re.MULTILINE)
_FILE = re.compile(r"^diff --git .*$", re.MULTILINE)
_PATH = re.compile(r"^\+\+\+ b/(.*)$", re.MULTILINE)
_FRAGMENT = re.compile(r"^(?:\S+/)?(\d+)\.\w+(?:\.\d+)?(?:\.(?:rst|md|txt))?$")
_ISSUE = re.compile(r":(?:issue|bug):`(\d+)`")
_NUMBERED = re.compile(r"^[-*] (#\d+(?:, #\d+)*):")
_BULLET = re.compile(r"^[-*] ")
_MARKUP = re.compile(r":[\w:]+:`~?([^`]*)`|``?([^`]*)``?")


@dataclass(frozen=True, slots=True)
class ChangelogEntry:
    """What a commit added to a change log."""

    commit: str
    path: str
    numbers: frozenset[int]
    """The issues that it is about."""
    text: str


def with_changelog(entries: Iterable[ChangelogEntry], pulls: tuple[Pull, ...]) -> tuple[Pull, ...]:
    """The pull requests, with what their change log entries say that they close at the end of their texts."""
    told: Mapping[str, set[int]] = defaultdict(set)
    for entry in entries:
        told[entry.commit].update(entry.numbers)
    numbers = frozenset(pull.number for pull in pulls)
    made = []
    for pull in pulls:
        oids = [pull.merge.oid, *(commit.oid for commit in pull.commits)]
        named = sorted({number for oid in oids for number in told.get(oid, ())} - numbers)
        closes = "".join(f"\n\nAccording to its change log entry, this closes #{number}." for number in named)
        made.append(replace(pull, body=f"{pull.body}{closes}".strip()))
    return tuple(made)


def entries_of(history: RepositoryHistory) -> tuple[ChangelogEntry, ...]:
    """Every entry that names an issue, oldest first; merges add none of their own."""
    log = ("log", "--reverse", "--format=%x1e%H", "--patch", "--unified=0", "--no-renames", "--no-color")
    at = ("--end-of-options", history.head, "--", *_FOLDERS, *_FILES)
    told = history.git.run("-C", str(history.folder), *log, *at).decode("utf-8", "replace")
    pieces = _COMMIT.split(told)[1:]
    commits = zip(pieces[0::2], pieces[1::2], strict=True)
    return tuple(entry for oid, patch in commits for entry in _entries(oid, patch))


def _entries(oid: str, patch: str) -> Iterator[ChangelogEntry]:
    for part in _FILE.split(patch)[1:]:
        path = _PATH.search(part)
        if not path:
            continue
        added = [line[1:] for line in part[path.end() :].splitlines() if line.startswith("+")]
        if path[1] in _FILES:
            removed = [line[1:] for line in part[path.end() :].splitlines() if line.startswith("-")]
            # An entry that is wrapped or put into other words says nothing of what its commit closes.
            known = frozenset().union(*map(_numbers, removed))
            for entry in _of_lines(oid, path[1], added):
                if entry.numbers - known:
                    yield replace(entry, numbers=entry.numbers - known)
        elif (fragment := _FRAGMENT.match(path[1])) and "\nnew file mode " in part:
            yield ChangelogEntry(oid, path[1], frozenset({int(fragment[1])}), plain("\n".join(added)))


def _of_lines(oid: str, path: str, added: list[str]) -> Iterator[ChangelogEntry]:
    """An entry goes from one bullet to the next."""
    entry: list[str] = []
    for line in (*added, "- "):
        if _BULLET.match(line) and entry:
            text = "\n".join(entry)
            if numbers := _numbers(text):
                said = _BULLET.sub("", _NUMBERED.sub("", _ISSUE.sub("", text)))
                yield ChangelogEntry(oid, path, numbers, plain(said))
            entry = []
        entry.append(line)


def _numbers(text: str) -> frozenset[int]:
    """The issues that an entry, or a line of one, names."""
    numbered = _NUMBERED.match(text)
    return frozenset(map(int, [*_ISSUE.findall(text), *(re.findall(r"\d+", numbered[1]) if numbered else ())]))


def plain(text: str) -> str:
    """Without reStructuredText's roles and quotes, and in one paragraph for each."""
    said = _MARKUP.sub(lambda match: match[1] or match[2] or "", text)
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", said) if part.strip())
