"""What a test process finds installed, as a lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import EnvId, InstanceId, InstanceKey, RepoName
from tasks.domain.outcome import RunnerKind
from tasks.domain.table import table


@table("env_id", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One built environment. `env_id` is the content key of all that decides it, so equal locks are one environment."""

    env_id: EnvId
    repo: RepoName
    python: str
    """Minor version, `3.9`; the patch release in use is `python_full`."""
    python_full: str
    lock: str
    """Hashed requirements, one per line, without any index address."""
    install: tuple[str, ...]
    """Steps after the lock: `editable` (metadata of the checkout), `compile`, `generate:<path>` …"""
    exclude_newer: datetime | None
    """Upload cutoff that the lock was resolved with, UTC; null where none was in force."""
    runner: RunnerKind
    test_args: tuple[str, ...]
    """Extra arguments for the repository's own test runner."""
    env: tuple[str, ...]
    """`NAME=value` pairs set for every test process."""
    source_roots: tuple[str, ...]
    """Folders of the checkout that are importable, relative to its root: `("",)` or `("src",)`."""
    recipe: str
    """`<file>#<table>` in data/environments, or `inferred`."""
    built_at: datetime
    build_seconds: float


@table("instance_key", "rung", "tried_at")
@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentAttempt:
    """One rung of the ladder that looked for an instance's environment; the last one with `env_id` is in use."""

    instance_key: InstanceKey
    instance_id: InstanceId
    rung: str
    """`recipe`, or the inference step that was tried."""
    env_id: EnvId | None
    """Null where the rung failed."""
    error: str
    """First lines of what the tool said; empty on success."""
    seconds: float
    tried_at: datetime
