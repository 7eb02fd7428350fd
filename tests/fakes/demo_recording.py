"""Writes `data/demo/github.jsonl`: what GitHub would answer to the rebuilds of `swt demo`, by the local GitHub.

python -m tests.fakes.demo_recording
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from flows.demo import DEMO, MONTHS, RECORDING
from tasks.adapters.github.queries import document
from tasks.demo.history import build_mirror
from tasks.scrape.repositories import read_repositories
from tests.fakes.local_github.resolvers import answer, question
from tests.fakes.local_github.world import Disagreement, World, open_repository

UNTIL = {"2025-08": datetime(2025, 8, 1, tzinfo=UTC), "2025-11": None}
"""Month of the demo → up to when GitHub's history is released; None for all of it."""
DISAGREEMENTS = {37: Disagreement.COUNTS}
"""Of this pull request the demo's GitHub counts other lines than git."""
FILES = {"repository": "repository", "pull_requests": "pullRequests", "issues": "issues"}
"""Query → the field of the answer that is recorded."""
SIZE = 100


def recording(scratch: Path) -> Iterator[str]:
    """Yields the lines of the file; nodes that are equal in several months share a line."""
    (repository,) = read_repositories(DEMO / "repositories.toml")
    mirror = build_mirror(DEMO, scratch / "larder.git")
    issues = DEMO / "issues.jsonl"
    served = open_repository(repository.repo, mirror, issues=issues, scratch=scratch / "github", license="MIT")
    world = World({repository.repo: served}, disagreements={repository.repo: DISAGREEMENTS})
    months: dict[tuple[str, str], list[str]] = {}
    for month, _ in MONTHS:
        world.until = UNTIL[month]
        for field, node in _nodes(world, repository.repo):
            months.setdefault((field, json.dumps(node, ensure_ascii=False)), []).append(month)
    for (field, node), names in months.items():
        yield json.dumps({"months": names, "field": field, "node": json.loads(node)}, ensure_ascii=False)


def _nodes(world: World, repo: str) -> Iterator[tuple[str, object]]:
    """Yields each recorded field with each of its nodes."""
    owner, _, name = repo.partition("/")
    order = {"size": SIZE, "field": "CREATED_AT", "direction": "ASC"}
    for query, field in FILES.items():
        variables = {"owner": owner, "name": name} | (order if field != "repository" else {})
        found = answer(world, question(document(query)), variables)["data"]["repository"]
        if field == "repository":
            yield field, found
            continue
        assert not found[field]["pageInfo"]["hasNextPage"], "the recorded GitHub answers with one page"
        yield from ((field, node) for node in found[field]["nodes"])


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        RECORDING.write_text("".join(f"{line}\n" for line in recording(Path(scratch))), encoding="utf-8")


if __name__ == "__main__":
    main()
