"""A small GitHub for these tests: a git history of twelve pull requests, and issues with texts."""

from __future__ import annotations

import copy
import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from tasks.adapters.clock import Clock
from tasks.adapters.github.client import GitHub, PageSize, RequestRetries
from tasks.adapters.github.tokens import TokenPool, tokens_from
from tasks.adapters.store.tables.store import Store
from tasks.domain.names import RepoName
from tasks.domain.scraping import ScrapeFailure, ScrapeTrouble
from tasks.scrape.fetching import SyncContext
from tasks.scrape.kinds import KINDS
from tasks.scrape.page_store import PageStore
from tasks.scrape.pages import CollectedRows
from tasks.scrape.sync import sync_repository
from tests.fakes.local_github.faults import Dice
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.server import transport
from tests.fakes.local_github.world import LocalRepository, World, open_repository
from tests.fakes.quick_clock import QuickClock

REPO = RepoName("small/project")
START = datetime(2024, 1, 1, tzinfo=UTC)
"""Of the history: one pull request is merged a week."""
SECRETS = ("ghp_first0000SECRET", "ghp_second000SECRET")
NUMBERS = 15
MANY_COMMITS = 52
MANY_FILES = 102
CHANGELOG = {7: ("changelog/5.bugfix.rst",), 3: ("CHANGES.rst",)}
"""Entries that name issues, by pull request."""


def week(number: int, hour: int = 0) -> datetime:
    return START + timedelta(weeks=number, hours=hour)


def make_repository(folder: Path) -> LocalRepository:
    """Even numbers are merges and odd ones squashed; number 11 is one merge of many commits, 13 of many files.
    Multiples of five are issues."""
    bare = folder / "git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, capture_output=True)
    subprocess.run(["git", "-C", str(bare), "fast-import", "--quiet"], input=_stream(), check=True, capture_output=True)
    issues = folder / "issues.jsonl"
    issues.write_text("\n".join(json.dumps(_issue(number)) for number in range(5, NUMBERS + 1, 5)), encoding="utf-8")
    return open_repository(REPO, bare, issues=issues, scratch=folder, license="MIT")


def world_of(repository: LocalRepository, until: datetime | None = None) -> World:
    """A world of its own, in which nothing was changed yet."""
    fresh = copy.copy(repository)
    fresh.touched = {}
    return World({REPO: fresh}, until=until)


def hub_of(world: World, clock: Clock, dice: Dice | None = None) -> Hub:
    return Hub(world, dice=dice or Dice(), clock=clock)


def context_of(hub: Hub, root: Path, *, size: int = 5, patience: RequestRetries | None = None) -> SyncContext:
    """A client with two tokens, small pages, and a store."""
    client = GitHub(
        pool=TokenPool(tokens_from(",".join(SECRETS)), hub.clock),
        http=httpx.Client(transport=transport(hub)),
        url="http://github.test/graphql",
        patience=patience or RequestRetries(),
        clock=hub.clock,
    )
    sizes = {kind.name: PageSize(now=size, floor=2, ceiling=12) for kind in KINDS}
    return SyncContext(client, PageStore(Store(str(root))), sizes)


def synced(context: SyncContext, *, tries: int = 20) -> CollectedRows:
    """Syncs until nothing fails, as a schedule would; the rows."""
    for _ in range(tries):
        if not sync_repository(context, REPO).failures:
            return context.page_store.rows(REPO)
    raise AssertionError(f"not one of {tries} syncs came through")


def clean(world: World, root: Path) -> CollectedRows:
    return synced(context_of(hub_of(world, QuickClock()), root), tries=1)


def troubles(context: SyncContext) -> list[ScrapeTrouble]:
    """What is noted of the syncs so far, in order."""
    rows = context.page_store.store.read(ScrapeFailure, repo=REPO)
    return [row.trouble for row in sorted(rows, key=lambda row: row.failed_at)]


def _stream() -> bytes:
    """A `git fast-import` stream."""
    lines: list[str] = []
    _commit(lines, 1, "refs/heads/main", "Start", START, files=("src/a.py",))
    main, mark = 1, 1
    for number in (number for number in range(1, NUMBERS + 1) if number % 5):
        if number % 2 == 0 or number in (11, 13):
            first = main
            files = tuple(f"many/f{place}.py" for place in range(MANY_FILES)) if number == 13 else ("src/a.py",)
            for part in range(MANY_COMMITS if number == 11 else 2):
                mark += 1
                text = f"Part {part} of {number}\n\nFixes #{number // 5 * 5}" if number > 5 and part else f"Part {part}"
                parent = first if part == 0 else mark - 1
                _commit(lines, mark, f"refs/heads/p{number}", text, week(number, part), parent, files=files)
            mark += 1
            text = f"Merge pull request #{number} from someone/p{number}\n\nMerge number {number}"
            text = f"Merge number {number} (#{number})" if number == 12 else text
            _commit(lines, mark, "refs/heads/main", text, week(number, 130), first, mark - 1, files=files)
        else:
            mark += 1
            text = f"Squash number {number} (#{number})\n\nCloses: #{number // 5 * 5 + 5}"
            files = ("src/a.py", f"tests/test_{number}.py", *CHANGELOG.get(number, ()))
            _commit(lines, mark, "refs/heads/main", text, week(number, 130), main, files=files)
        main = mark
    return "\n".join(lines).encode() + b"\n"


def _commit(
    lines: list[str], mark: int, ref: str, text: str, when: datetime, *parents: int, files: tuple[str, ...]
) -> None:
    """Every file is written anew, also by a merge."""
    stamp = f"{int(when.timestamp())} +0000"
    lines += [f"commit {ref}", f"mark :{mark}", f"author Ann <a@example.org> {stamp}"]
    lines += [f"committer Ann <a@example.org> {stamp}", f"data {len(text.encode())}", text]
    lines += [f"{'merge' if place else 'from'} :{parent}" for place, parent in enumerate(parents)]
    for path in files:
        content = "- A change. :issue:`10`\n" if path == "CHANGES.rst" else f"line of {mark}\n" * (mark % 7 + 1)
        lines += [f"M 100644 inline {path}", f"data {len(content)}", content]
    lines.append("")


def _issue(number: int) -> dict[str, object]:
    """Number 5 has more comments, edits and renamings than fit on a page."""
    many = number == 5
    opened = week(number - 4)
    return {
        "number": number,
        "title": f"Crash {number}",
        "body": f"It crashes in {number}.",
        "author": "bob",
        "created_at": opened.isoformat(),
        "closed_at": week(number, 131).isoformat(),
        "comments": [
            {"body": f"Comment {place}", "author": "eve", "created_at": (opened + timedelta(hours=place)).isoformat()}
            for place in range(55 if many else 2)
        ],
        "edits": [
            {"at": (opened + timedelta(minutes=place)).isoformat(), "body": f"Version {place}"}
            for place in range(24 if many else 0)
        ],
        "renames": [
            {"at": (opened + timedelta(minutes=place)).isoformat(), "before": f"Name {place}", "after": "x"}
            for place in range(22 if many else 0)
        ],
    }
