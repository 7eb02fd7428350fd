"""Derives an instance's version, in the recipes' notation, from the files of its checkout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.environment.project_files.requirements import Read

_NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class VersionRule:
    """The source of a version: a file and a pattern with one or more groups."""

    path: str
    pattern: re.Pattern[str]
    version: str = ""
    """The version that a match indicates; empty to join the groups with dots."""

    def find(self, read: Read) -> str | None:
        """Returns the version in the file; None if the file is missing or the pattern does not match."""
        match = self.pattern.search(read(self.path) or "")
        if match is None:
            return None
        return self.version or ".".join(group for group in match.groups() if group)


def derive_version(read: Read, rules: Iterable[VersionRule]) -> str | None:
    """Returns the version of the first rule that matches; None if none does."""
    return next((found for rule in rules if (found := rule.find(read)) is not None), None)


def numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers by which versions are compared: `2022.09` → (2022, 9)."""
    return tuple(int(part) for part in _NUMBER.findall(version))
