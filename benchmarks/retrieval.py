"""How often retrieval finds a file that the fix changes, and what it costs against rank-bm25.

    python -m benchmarks.retrieval lite.jsonl verified.jsonl --cache FOLDER

Each file holds SWE-bench rows; rows without a mirror in the cache are left out. Both retrievers rank the same files,
and every figure is in a table of one retriever only.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

import typer
from rank_bm25 import BM25Okapi

from benchmarks.measured import machine, text_table
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.retrieval.budget import fitting
from tasks.adapters.retrieval.search import CommitIndex, ScoredFile, Searcher
from tasks.adapters.retrieval.variants import RETRIEVERS
from tasks.coverage.changed_lines import changed_lines
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.localization import RetrieverKind
from tasks.domain.names import InstanceKey
from tasks.scrape.swe_bench_rows import import_instances

CACHE = Settings().cache
FIRST = (1, 5, 10, 30)
BUDGETS = (13_000, 27_000, 50_000)
DEPTH = 200
TIMED = 5
"""Queries per commit whose time is measured; the median counts."""
Answer = TypeVar("Answer")


def main(
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows, JSONL.")],
    cache: Annotated[Path, typer.Option(help="Has the mirrors; term counts are kept there.")] = CACHE,
    commits: Annotated[int, typer.Option(help="Commits for the comparison of times; 0 leaves it out.")] = 6,
    recall: Annotated[bool, typer.Option(help="Measure recall on every row.")] = True,
) -> None:
    """Measure recall on every row, then times, and print tables."""
    mirrors = Mirrors(cache / "mirrors")
    searcher = Searcher(mirrors, cache / "retrieval")
    everything = {path.stem: _mirrored(mirrors, path) for path in rows}
    print(machine())
    for variant in RetrieverKind if recall else ():
        lines = [_recall_row(name, searcher, variant, found) for name, found in everything.items()]
        print(f"\n{variant}: any golden file, %\n\n{text_table(RECALL_HEAD, lines)}")
    chosen = _largest(mirrors, [one for found in everything.values() for one in found], commits)
    if chosen:
        print(f"\n{text_table(TIME_HEAD, [_time_row(mirrors, one) for one in chosen])}")


def _mirrored(mirrors: Mirrors, path: Path) -> list[TaskInstance]:
    """The rows whose base commit is there, commits of one repository after one another."""
    found = import_instances(path, snapshot="benchmark").instances
    here = [one for one in found if _has(mirrors, one)]
    return sorted(here, key=lambda one: (one.repo, one.instance_id))


def _has(mirrors: Mirrors, instance: TaskInstance) -> bool:
    try:
        return mirrors.has_commit(instance.repo, instance.base_commit)
    except NotFound:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one ranking holds of the golden files."""

    first: int | None
    """Rank of the first golden file."""
    budgets: frozenset[int]
    passing: frozenset[int]
    """As `budgets`, with files that do not fit passed over."""


def _recall_row(name: str, searcher: Searcher, variant: RetrieverKind, instances: Sequence[TaskInstance]) -> list[str]:
    found = []
    for at, instance in enumerate(instances, start=1):
        print(f"\r{name} {variant} {at}/{len(instances)}", end="", file=sys.stderr)
        index = searcher.index(instance.repo, instance.base_commit, variant)
        found.append(_found(index.rank(instance.problem_statement, DEPTH), _golden(instance)))
    print(file=sys.stderr)
    return [
        name,
        str(len(found)),
        *(_percent(one.first is not None and one.first <= k for one in found) for k in FIRST),
        " / ".join(_percent(budget in one.budgets for one in found) for budget in BUDGETS),
        " / ".join(_percent(budget in one.passing for one in found) for budget in BUDGETS),
    ]


def _golden(instance: TaskInstance) -> set[str]:
    """Python files that the golden patch changes."""
    return {line.path for line in changed_lines(InstanceKey(""), instance.patch)}


def _found(hits: Sequence[ScoredFile], golden: set[str]) -> Found:
    sizes = [hit.tokens for hit in hits]
    ranks = {rank for rank, hit in enumerate(hits) if hit.path in golden}

    def within(*, pass_over: bool) -> frozenset[int]:
        return frozenset(one for one in BUDGETS if ranks & set(fitting(sizes, one, pass_over=pass_over)))

    return Found(
        first=min(ranks) + 1 if ranks else None, budgets=within(pass_over=False), passing=within(pass_over=True)
    )


def _percent(hits: Iterable[bool]) -> str:
    each = list(hits)
    return f"{100 * sum(each) / len(each):.1f}" if each else "–"


RECALL_HEAD = ("rows", "n", *(f"@{k}" for k in FIRST), "13k / 27k / 50k tokens", "the same, passing over")


def _largest(mirrors: Mirrors, instances: Sequence[TaskInstance], number: int) -> list[TaskInstance]:
    """One commit of each of the repositories with most files."""
    by_repo: dict[str, TaskInstance] = {}
    for instance in instances:
        by_repo.setdefault(instance.repo, instance)
    size = Counter({repo: len(_sources(mirrors, one)) for repo, one in by_repo.items()})
    return [by_repo[repo] for repo, _ in size.most_common(number)]


def _sources(mirrors: Mirrors, instance: TaskInstance) -> list[str]:
    """Blobs of the Python files that are no tests."""
    entries = mirrors.python_files(instance.repo, instance.base_commit)
    return [entry.sha for entry in entries if not is_test_path(entry.path)]


TIME_HEAD = (
    "commit",
    "files",
    "first index, s",
    "index again, s",
    "query, ms",
    "rank-bm25: terms, s",
    "index, s",
    "query, ms",
    "query ratio",
)


def _time_row(mirrors: Mirrors, instance: TaskInstance) -> list[str]:
    """CPU seconds; the variant `lucene`, in a cache of its own. The analyzer has seen the words for both sides."""
    _terms(mirrors, instance)
    with tempfile.TemporaryDirectory() as folder:
        searcher = Searcher(mirrors, Path(folder))

        def index() -> CommitIndex:
            return searcher.index(instance.repo, instance.base_commit, RetrieverKind.LUCENE)

        first_s, _ = _timed(index)
        again_s, made = _timed(index)
        query_s = median(_timed(lambda: made.rank(instance.problem_statement, 30))[0] for _ in range(TIMED))
    terms_s, index_s, other_s = _rank_bm25(mirrors, instance)
    return [
        f"{instance.repo}@{instance.base_commit[:8]}",
        str(len(made.paths)),
        f"{first_s:.2f}",
        f"{again_s:.3f}",
        f"{1000 * query_s:.1f}",
        f"{terms_s:.2f}",
        f"{index_s:.2f}",
        f"{1000 * other_s:.1f}",
        f"{other_s / query_s:.0f}×",
    ]


def _rank_bm25(mirrors: Mirrors, instance: TaskInstance) -> tuple[float, float, float]:
    """Seconds for reading terms, for the index, and for one query, with the same analyzer."""
    terms_s, documents = _timed(lambda: _terms(mirrors, instance))
    index_s, index = _timed(lambda: BM25Okapi(documents, k1=0.9, b=0.4))
    query = list(RETRIEVERS[RetrieverKind.LUCENE].analyze(instance.problem_statement))
    query_s = median(_timed(lambda: index.get_scores(query))[0] for _ in range(TIMED))
    return terms_s, index_s, query_s


def _terms(mirrors: Mirrors, instance: TaskInstance) -> list[list[str]]:
    """The terms of every file, in order."""
    analyze = RETRIEVERS[RetrieverKind.LUCENE].analyze
    blobs = mirrors.blobs(instance.repo, _sources(mirrors, instance))
    return [list(analyze(blob.decode("utf-8", "replace"))) for blob in blobs]


def _timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """CPU seconds of this process, and the answer."""
    started = time.process_time()
    answer = work()
    return time.process_time() - started, answer


if __name__ == "__main__":
    typer.run(main)
