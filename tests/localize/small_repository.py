"""A repository in memory, and replies as a model would write them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tasks.adapters.retrieval.budget import token_count
from tasks.adapters.retrieval.search import ScoredFile
from tasks.domain.localization import IssueReport
from tasks.domain.names import InstanceKey, RepoName, RepoPath, Sha

REPORT = IssueReport(
    instance_key=InstanceKey("key"),
    repo=RepoName("owner/name"),
    base_commit=Sha("1" * 40),
    statement="Peeling fails\n\nCalling `peel()` on an apple costs $5 and raises ValueError. {not a placeholder}",
)
FILES = {
    "pkg/apple.py": "def peel():\n    raise ValueError\n",
    "pkg/pear.py": "def peel_pear():\n    return 1\n",
    "pkg/long.py": "".join(f"line_{number} = {number}\n" for number in range(400)),
    "pkg/empty.py": "",
}


class SmallRepository:
    """Searching returns the first k files in the order of `FILES` and remembers the query."""

    def __init__(self, files: Mapping[str, str] = FILES, readme: str = "README.md") -> None:
        self.files = {RepoPath(path): text for path, text in files.items()}
        self.readme = readme
        self.queries: list[tuple[str, int]] = []

    @property
    def paths(self) -> Mapping[RepoPath, int]:
        return {path: token_count(text) for path, text in self.files.items()}

    def search(self, query: str, k: int) -> tuple[ScoredFile, ...]:
        self.queries.append((query, k))
        found = list(self.files)[:k]
        return tuple(ScoredFile(path=path, score=10.0 - at, tokens=1) for at, path in enumerate(found))

    def read(self, path: str) -> str:
        return "# Fruit\n" if path == self.readme else self.files[RepoPath(path)]


def call(name: str, path: str = "") -> str:
    return json.dumps({"function_call": name, "args": {"file_path": path} if path else {}})


def view(path: str) -> str:
    return call("view_file", path)


def ranked(*paths: str, scores: list[object] | None = None) -> str:
    found: dict[str, object] = {"ranked_files": paths}
    if scores is not None:
        found["confidence_scores"] = scores
    return json.dumps(found)


EXTRACT = call("extract_relevant")
EXTRACTED = json.dumps({"explanation": "peel raises", "code": ["peel()"], "errors": ["ValueError"], "paths": []})
SEARCH = call("get_bm25_top20")
START = (EXTRACT, EXTRACTED, SEARCH)
"""The replies that lead to the third turn."""
APPLE, PEAR, LONG = "pkg/apple.py", "pkg/pear.py", "pkg/long.py"
REVIEWED = ranked(APPLE, scores=[9])
