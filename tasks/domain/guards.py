"""What the guards find: pointers in an issue's text, leaks in a checkout, tricks in tests, looks in a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.names import InstanceId, InstanceKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """One place of an issue's text that points at the fix, or may."""

    snapshot: str
    instance_id: InstanceId
    instance_key: InstanceKey
    rule: str
    """`pull-url`, `commit-url`, `compare-url`, `patch-file`, `later-url`, `pull-number`, `later-commit`, `fixed-by`,
    `quoted-patch`."""
    line: int
    """1-based line of the text as it was."""
    text: str
    """What stood there, at most 300 characters."""
    removed: bool
    """Whether methods see a placeholder instead. A quoted patch is the reporter's own words: told, and left."""
