"""Links and filter over very many pull requests, against SWE-bench's way on the same rows, in one run.

    python -m benchmarks.collect_throughput --mirrors FOLDER [--rows 90000]

The rows are made from real histories: messages, files and counts of merges of pallets/flask, pytest-dev/pytest and
django/django, repeated with other numbers, some with a pull-request template around the text, until there are enough.

SWE-bench's way is written anew from what its documentation says: the words before `#number` in title, body and commit
messages, HTML comments taken out; a pull request counts if it is merged and names an issue; then its diff is parsed
and split by file names. The diff is at hand here; there it is another request for each pull request. CPU seconds of
this process, its threads included.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from unidiff.patch import PatchSet

from benchmarks.measured import machine
from tasks.adapters.git.changes import Changes, Commit, Counts, Range, Tree
from tasks.adapters.git.command import Git
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.files.schema import to_arrow
from tasks.domain.collect import Issue, IssueLink, PullBase, PullRequest, Rejection, Repository
from tasks.domain.names import RepoName, Sha
from tasks.filter.facts import Inputs, PullKey, pull_table, rejections
from tasks.filter.rules import RULES, RuleLimits
from tasks.filter.screen import Material, statements_of
from tasks.scrape.keywords import closing_mentions
from tasks.scrape.links import known_of, links_of

START = datetime(2020, 1, 1, tzinfo=UTC)
REPOSITORIES = ("django/django", "pallets/flask", "pytest-dev/pytest")
TEMPLATE = """<!--
Thank you for your work! If it fixes #123, say so below.
Resolved #1 and closes #2 are fine, too.
-->
{text}

- [ ] tests added
- [ ] a note in the changelog
"""
PER_REPOSITORY = 700
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Sample:
    """One merge of a real history."""

    repo: RepoName
    text: str
    files: Counts
    diff: str


def main(
    mirrors: Annotated[Path, typer.Option(help="Folder with bare mirrors `<owner>__<name>.git`.")],
    rows: Annotated[int, typer.Option(help="How many pull requests.")] = 90_000,
) -> None:
    """Print CPU seconds of each step of both ways, and their ratios."""
    samples = [sample for repo in REPOSITORIES for sample in _samples(Changes(Mirrors(mirrors), RepoName(repo)))]
    rng = random.Random(7)  # noqa: S311
    chosen = [rng.choice(samples) for _ in range(rows)]
    pulls = [_pull(number, sample, rng) for number, sample in enumerate(chosen, 100_000)]
    issues = _issues(pulls, rng)
    typer.echo(f"{machine()}\n{rows} pull requests of {len(samples)} real merges, {len(issues)} issues")
    known = known_of(pulls, issues)
    links, links_s = _timed(lambda: [link for pull in pulls for link in links_of(pull, known)])
    rejected, filter_s = _timed(lambda: _filter(pulls, issues, links))
    resolved, words_s = _timed(lambda: [resolved_issues(pull) for pull in pulls])
    valid = [sample for sample, pull, found in zip(chosen, pulls, resolved, strict=True) if pull.merged_at and found]
    kept, split_s = _timed(lambda: sum(has_both_halves(sample.diff) for sample in valid))
    ours, theirs = links_s + filter_s, words_s + split_s
    passed = rows - len({(row.repo, row.number) for row in rejected})
    typer.echo(f"links           {links_s:8.2f} s   {len(links)} links, {len({link.number for link in links})} pulls")
    typer.echo(f"filter          {filter_s:8.2f} s   {len(rejected)} rejections, {passed} left")
    typer.echo(f"their issues    {words_s:8.2f} s   {sum(map(bool, resolved))} pulls with some")
    typer.echo(f"their diffs     {split_s:8.2f} s   {len(valid)} parsed, {kept} with both halves")
    typer.echo(f"theirs / ours   {theirs / ours:8.1f}     issues alone {words_s / links_s:.2f}")


def resolved_issues(pull: PullRequest) -> list[str]:
    """SWE-bench's rule: the number after a closing word."""
    text = "\n".join([pull.title, pull.body, *pull.commit_messages])
    text = re.sub(r"(?s)<!--.*?-->", "", text)
    words = ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved")
    return [number for word, number in re.findall(r"(\w+)\s+\#(\d+)", text) if word.lower() in words]


def has_both_halves(diff: str) -> bool:
    """SWE-bench's split: a file is a test where its path contains one of four words."""
    tests = source = ""
    for file in PatchSet(diff):
        if any(word in file.path for word in ("test", "tests", "e2e", "testing")):
            tests += str(file)
        else:
            source += str(file)
    return bool(tests and source)


def _filter(pulls: Sequence[PullRequest], issues: Sequence[Issue], links: Sequence[IssueLink]) -> tuple[Rejection, ...]:
    """All rules but those that ask git, from rows to rows."""
    words: dict[PullKey, int] = {}
    repositories = [Repository(repo=RepoName(name), licence="MIT", default_branch="main") for name in REPOSITORIES]
    for repository in repositories:
        repo = repository.repo
        material = Material(
            repository=repository,
            pulls=[pull for pull in pulls if pull.repo == repo],
            issues=[issue for issue in issues if issue.repo == repo],
            links=[link for link in links if link.repo == repo],
        )
        words |= {key: len(found.text.split()) for key, found in statements_of(material).items()}
    inputs = Inputs(
        pulls=pull_table(pulls),
        links=to_arrow(links, IssueLink),
        bases=to_arrow([], PullBase),
        repositories=repositories,
        statement_words=words,
        reproduces={},
    )
    cheap = [rule for rule in RULES if rule.name not in ("base_verified", "patch_reproduces")]
    return rejections(inputs, RuleLimits(), cheap)


def _samples(changes: Changes) -> Iterator[Sample]:
    """The newest merges of a mirror (commits, where a project merges by rebasing) with what they changed."""
    graph = changes.graph()
    at = ("--git-dir", str(changes.mirrors.path(changes.repo)))
    git = Git(changes.mirrors.root)
    log = git.run(*at, "log", "--first-parent", f"-{PER_REPOSITORY}", "--format=%H%x00%B%x01", "HEAD")
    entries = [entry.strip().split("\0") for entry in log.decode("utf-8", "replace").split("\x01") if entry.strip()]
    pairs = {sha: _trees(graph, Sha(sha)) for sha, _ in entries}
    counts = changes.counts(pairs.values())
    for sha, text in entries:
        change = Range(graph[Sha(sha)].parents[0], Sha(sha))
        files = counts[pairs[sha]]
        if 0 < len(files) <= 60:
            yield Sample(changes.repo, text, files, changes.patch(change).decode("utf-8", "replace"))


def _trees(graph: dict[Sha, Commit], sha: Sha) -> tuple[Tree, Tree]:
    return graph[graph[sha].parents[0]].tree, graph[sha].tree


def _pull(number: int, sample: Sample, rng: random.Random) -> PullRequest:
    """A pull request like the sample: other number and moment, sometimes a bot, another branch, a template."""
    opened = START + timedelta(minutes=30 * (number - 100_000))
    title, _, rest = sample.text.partition("\n")
    jittered = re.sub(r"#(\d+)", lambda match: f"#{int(match[1]) + rng.randrange(50_000)}", rest + "\n" + title)
    body = TEMPLATE.format(text=jittered) if rng.random() < 0.5 else jittered
    return PullRequest(
        repo=sample.repo,
        number=number,
        title=re.sub(r"#\d+", "", title),
        body=body,
        author="dependabot" if (bot := rng.random() < 0.08) else "somebody",
        author_kind="Bot" if bot else "User",
        labels=(),
        created_at=opened,
        merged_at=opened + timedelta(days=2),
        updated_at=opened + timedelta(days=3),
        base_branch="main" if rng.random() < 0.93 else "stable",
        head_commit=Sha(f"{number:040x}"),
        merge_commit=Sha(f"{number + 10**9:040x}"),
        first_commit=None,
        first_commit_parents=(),
        begun_at=opened,
        commits=1,
        commit_ids=(Sha(f"{number:040x}"),),
        commit_messages=(jittered,),
        merge_message="",
        changed_files=len(sample.files),
        additions=sum(count.added for count in sample.files.values()),
        deletions=sum(count.removed for count in sample.files.values()),
        paths=tuple(sample.files),
        path_additions=tuple(count.added for count in sample.files.values()),
        path_deletions=tuple(count.removed for count in sample.files.values()),
        path_changes=("modified",) * len(sample.files),
        closing_references=(),
        complete=True,
    )


def _issues(pulls: Sequence[PullRequest], rng: random.Random) -> list[Issue]:
    """An issue for nine in ten of the numbers that are said to be closed, with comments, some edited later."""
    said = sorted({(pull.repo, mention.number) for pull in pulls for mention in closing_mentions(pull.body)})
    plain = _issue(said[0][0], 0)
    return [
        replace(plain, repo=repo, number=number, body="It breaks when I do this. " * rng.randrange(1, 60))
        for repo, number in said
        if rng.random() < 0.9
    ]


def _issue(repo: RepoName, number: int) -> Issue:
    later = START + timedelta(days=900)
    return Issue(
        repo=repo,
        number=number,
        title="It breaks",
        body="",
        author="somebody",
        labels=(),
        created_at=START - timedelta(days=9),
        closed_at=None,
        updated_at=later,
        edited_at=later,
        edit_times=(START - timedelta(days=9), later),
        edit_texts=("It breaks when I do this and that, every time, and I do not know why.", "As above."),
        edits_complete=True,
        rename_times=(),
        rename_titles=(),
        comment_authors=("a", "b"),
        comment_times=(START, later),
        comment_touched=(START, later),
        comment_texts=("Thanks for the report.", "Fixed now."),
        closers=(),
        complete=True,
    )


def _timed(work: Callable[[], Value]) -> tuple[Value, float]:
    started = time.process_time()
    return work(), time.process_time() - started


if __name__ == "__main__":
    typer.run(main)
