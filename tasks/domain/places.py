"""The folders that stages use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders that stages use. Hashable and small: units of work contain it.

    <cache>/
    ├── mirrors/<owner>__<name>.git     bare mirrors of repositories
    ├── environments/<env_id>/          built environments
    ├── gates/<key>/                    interpreters for uv that send each call to the build gate
    ├── extensions/                     compiled modules, by code state, and the compiler's own cache
    ├── locks/                          resolved requirements
    ├── retrieval/                      term counts of files
    ├── answers/                        cached query results, valid until the store changes
    ├── budgets/                        amounts reserved by processes that share a budget
    ├── journals/                       replay logs of unfinished work: commands, tests, debuggers
    ├── agents/<name>-<key>/            third-party programs that methods start
    ├── trees/                          packed trees of commits
    └── bases/                          trees of commits used as lower layers of sandbox checkouts
    """

    store: str
    """Root of the warehouse: a folder or URL."""
    cache: Path
    """Folder of the cache; its contents can be recreated."""
    recipes: Path
    """Folder of environment recipes."""
    scratch: Path
    """Folder for running tasks: thousands of short-lived small files, so best in memory."""

    @property
    def mirrors(self) -> Path:
        return self.cache / "mirrors"

    @property
    def trees(self) -> Path:
        return self.cache / "trees"

    @property
    def bases(self) -> Path:
        return self.cache / "bases"

    @property
    def retrieval(self) -> Path:
        return self.cache / "retrieval"

    @property
    def answers(self) -> Path:
        return self.cache / "answers"

    @property
    def agents(self) -> Path:
        return self.cache / "agents"

    @property
    def journals(self) -> Path:
        return self.cache / "journals"
