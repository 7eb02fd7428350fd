"""The manifest of a snapshot: which rows it consists of, in which environments they hold, and what made it.

A JSON document under `files/` of the store, named by its hash in `snapshot.manifest`.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from tasks.adapters.store.files.provenance import project_commit, project_dirty, project_version
from tasks.domain.environment import Environment
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import EnvId, InstanceKey, content_key

TOOLS = ("prefect", "pyarrow", "duckdb", "uv", "coverage", "unidiff")
"""Distributions whose versions go on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The controls on the very instances of a snapshot. Every method's figures stand on this."""

    instances: int
    golden_solved: int
    nop_solved: int

    @property
    def holds(self) -> bool:
        return self.golden_solved == self.instances and self.nop_solved == 0

    def __str__(self) -> str:
        return f"golden {self.golden_solved} of {self.instances}, nop {self.nop_solved} of {self.instances}"


def lock_hash(environment: Environment) -> str:
    return content_key("lock", environment.python, environment.lock)


def locks_of(environments: Mapping[InstanceKey, Environment]) -> dict[InstanceKey, str]:
    """What each instance's environment is, in one word: its id and its lock."""
    return {key: f"{one.env_id} {lock_hash(one)}" for key, one in environments.items()}


def manifest_of(
    snapshot: str,
    previous: str,
    instances: Sequence[TaskInstance],
    environments: Mapping[InstanceKey, Environment],
    gate: Gate,
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Everything but the moment: the same rows by the same tools give the same manifest."""
    return {
        "trial": any(one.trial for one in instances),
        "snapshot": snapshot,
        "previous": previous,
        "content": Snapshot.content_of(instances, locks_of(environments)),
        "gate": asdict(gate),
        "counts": dict(counts),
        "tools": _tools(),
        "instances": [
            {
                "instance_id": row.instance_id,
                "instance_key": row.instance_key,
                "row": row.content,
                "env_id": environments[row.instance_key].env_id,
                "lock": lock_hash(environments[row.instance_key]),
            }
            for row in instances
        ],
    }


def to_bytes(manifest: Mapping[str, Any]) -> bytes:
    return json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n"


def complaints(
    made: Snapshot, document: bytes, instances: Iterable[TaskInstance], locks: Mapping[EnvId, str]
) -> tuple[str, ...]:
    """One line for everything of the store that is not what the manifest says, and for a manifest that is not the one
    that the snapshot's row names; `locks` by environment."""
    if hashlib.sha256(document).hexdigest() != made.manifest:
        return (f"{made.snapshot}: its manifest is not the one that was published",)
    manifest, rows = json.loads(document), {row.instance_id: row for row in instances}
    said = {entry["instance_id"]: entry for entry in manifest["instances"]}
    row = {"snapshot": made.snapshot, "previous": made.previous, "content": made.content}
    found = [f"{made.snapshot}: its row has another {name}" for name, value in row.items() if manifest[name] != value]
    found += [f"{name}: not in the manifest" for name in sorted(rows.keys() - said.keys())]
    for name, entry in sorted(said.items()):
        if name not in rows:
            found.append(f"{name}: its row is missing")
        elif rows[name].content != entry["row"]:
            found.append(f"{name}: its row is not the one that was published")
        if locks.get(entry["env_id"]) != entry["lock"]:
            found.append(f"{name}: the lock of environment {entry['env_id']} is missing or another")
    return tuple(found)


def _tools() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "rolling-swt-bench": project_version(),
        "commit": project_commit() + ("+dirty" if project_dirty() else ""),
    } | {name: version(name) for name in TOOLS}
