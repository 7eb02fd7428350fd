"""Bringing in what the evaluation stands on: snapshots of instances, and mirrors of their repositories."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from flows.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.instance import Snapshot
from tasks.scrape.swe_bench_rows import ImportResult, import_instances, snapshot_of

SNAPSHOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
REPO_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def import_rows(settings: Settings, file: Path, name: str) -> str:
    """Take the rows of a SWE-bench file as snapshot `name`; every row that cannot be taken is named on stderr."""
    if not SNAPSHOT_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a snapshot", hint="letters, digits, `.`, `_` and `-`")
    result = import_instances(file, snapshot=name)
    for problem in result.problems:
        print(f"{file.name}:{problem.line}: {problem.instance_id or '?'}: {problem.what}", file=sys.stderr)
    if not result.instances:
        raise BadInput(f"{file} holds no instance that can be taken", hint="see the lines above")
    made = _write_snapshot(Store(settings.store), result, name, file.name)
    left = f", {len(result.problems)} problems" if result.problems else ""
    return f"snapshot {name}: {made.instances} instances, content {made.content[:12]}{left}"


def _write_snapshot(store: Store, result: ImportResult, name: str, source: str) -> Snapshot:
    """Write the rows unless the very same snapshot is there; a snapshot never changes under its name."""
    made = snapshot_of(result.instances, snapshot=name, source=source, created_at=datetime.now(UTC))
    known = store.read(Snapshot, snapshot=name)
    if known and known[0].content != made.content:
        raise UsageError(
            f"snapshot {name} exists with other content ({known[0].instances} instances from {known[0].source})",
            hint="snapshots are immutable: choose another name",
        )
    if known:
        return known[0]
    store.write(result.instances, key=f"{name}-{made.content}")
    store.write([made], key=f"{name}-{made.content}")
    return made


def add_mirror(settings: Settings, name: str, source: str) -> str:
    """Mirror repository `name` from a local path or URL; GitHub where no source is given."""
    if not REPO_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not OWNER/NAME", hint="for example: swt repo add psf/requests --git PATH")
    path = Mirrors(settings.places.mirrors).add(name, source or f"https://github.com/{name}.git")
    return f"{name}: {path}"
