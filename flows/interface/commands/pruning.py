"""`swt store prune`: remove environments, trees and mirrors that no run has used for long, and replay logs of abandoned
work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from flows.interface.settings import Settings
from tasks.adapters.pruning import GB, SHORTEST, Unused, remove, unused
from tasks.adapters.sandbox.base_trees import Bases
from tasks.adapters.store.tables.store import Store
from tasks.domain.environment import Environment, ExtensionBuild
from tasks.domain.errors import UsageError
from tasks.domain.names import EnvId, repo_folder
from tasks.domain.run import Run
from tasks.domain.window import since_when

_ENV_ID = re.compile(r"\b[0-9a-f]{32}\b")


def prune(settings: Settings, older_than: str, *, dry_run: bool) -> str:
    """Remove what was not used for this time (`90 days`). With `dry_run`, removes nothing. Returns one line for each
    item, and a total."""
    now = datetime.now(UTC)
    before = since_when(older_than, now)
    if before is None or before > now - SHORTEST:
        raise UsageError(f"{older_than!r} is too short", hint="at least 7 days: what runs now must not lose its files")
    found = find_unused(settings, before)
    for one in found if not dry_run else ():
        remove(one.path)
    lines = [f"{one.kind:12} {one.size / GB:7.2f} GB  last used {one.used_at:%Y-%m-%d}  {one.path}" for one in found]
    total = sum(one.size for one in found) / GB
    said = "would be removed" if dry_run else "removed"
    return "\n".join([*lines, f"{len(found)} not used since {before:%Y-%m-%d}, {total:.2f} GB {said}"])


def find_unused(settings: Settings, before: datetime) -> tuple[Unused, ...]:
    """Returns what no run has used since `before`. Environments that another one is served by or built with count as
    used with it."""
    store, places = Store(settings.store), settings.places
    runs = store.read(Run)
    environments = _latest((run.env_id, run.finished_at) for run in runs)
    _pass_on(store, environments)
    repositories = _latest((f"{repo_folder(run.repo)}.git", run.finished_at) for run in runs)
    folders: tuple[tuple[str, Iterable[Path], Mapping[str, datetime]], ...] = (
        ("environment", (places.cache / "environments").glob("[!.]*"), environments),
        ("tree", places.trees.glob("*.tar"), {}),
        ("tree", Bases(places.bases).kept(), {}),
        ("journal", places.journals.glob("*.jsonl"), {}),
        ("mirror", places.mirrors.glob("*.git"), repositories),
    )
    return tuple(one for kind, paths, uses in folders for one in unused(kind, paths, uses, before))


def _latest(uses: Iterable[tuple[str, datetime]]) -> dict[str, datetime]:
    found: dict[str, datetime] = {}
    for name, moment in uses:
        found[name] = max(moment, found.get(name, moment))
    return found


def _pass_on(store: Store, uses: dict[str, datetime]) -> None:
    """Copy the last use of an environment to the environments that serve it or that built its extension modules."""
    pairs = [(row.env_id, EnvId(name)) for row in store.read(Environment) for name in _ENV_ID.findall(str(row.install))]
    pairs += [(row.env_id, row.tools) for row in store.read(ExtensionBuild)]
    known: Mapping[str, datetime] = dict(uses)
    for user, needed in pairs:
        if user in known:
            uses[needed] = max(known[user], uses.get(needed, known[user]))
