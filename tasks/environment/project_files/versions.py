"""An instance's version, as the recipes count it, from the files of its checkout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.environment.project_files.requirements import Read

_NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class VersionRule:
    """Where a version is written: a file and a pattern with one or more groups."""

    path: str
    pattern: re.Pattern[str]
    version: str = ""
    """What a match means where the file does not say it itself; empty to join the groups with dots."""

    def find(self, read: Read) -> str | None:
        """The version in this place, null where the file or the pattern is not there."""
        match = self.pattern.search(read(self.path) or "")
        if match is None:
            return None
        return self.version or ".".join(group for group in match.groups() if group)


def derive_version(read: Read, rules: Iterable[VersionRule]) -> str | None:
    """What the first rule that matches says; null where none does."""
    return next((found for rule in rules if (found := rule.find(read)) is not None), None)


def numbers(version: str) -> tuple[int, ...]:
    """`2022.09` → (2022, 9): how versions are compared."""
    return tuple(int(part) for part in _NUMBER.findall(version))
