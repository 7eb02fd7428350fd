"""Where things are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders that stages work in. Hashable and small: units of work carry it.

    <cache>/
    ├── mirrors/<owner>__<name>.git     bare mirrors of repositories
    ├── environments/<env_id>/          built environments
    ├── gates/<key>/                    what uv gets as an interpreter: sends each call to the build gate
    ├── extensions/                     modules that compilers made, by code state, and the compiler's own cache
    ├── locks/                          resolved requirements
    ├── retrieval/                      term counts of files
    ├── answers/                        what was asked of a store, as long as it says the same
    ├── budgets/                        what processes that pay together have set aside
    ├── journals/                       what work under way has seen: commands, tests, debuggers
    ├── agents/<name>-<key>/            programs of others that methods start
    ├── trees/                          packed trees of commits
    └── bases/                          trees of commits that sandboxes lay jobs over
    """

    store: str
    """Root of the warehouse: a folder or URL."""
    cache: Path
    """Everything below can be made again."""
    recipes: Path
    """Folder of environment recipes."""
    scratch: Path
    """What runs under way need: thousands of small files that come and go, so best in memory."""

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
