"""The facts that a project declares, read without running its code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tasks.environment.project_files.requirements import Read, Requirements, normal, parse_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Facts of one checkout. Empty if the project does not declare them, or only by running code."""

    name: str = ""
    requires_python: str = ""
    classifiers: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """PEP 735 groups and those of Poetry, PDM, uv and Hatch, with includes resolved."""
    test_requires: tuple[str, ...] = ()
    """`tests_require` of setuptools."""
    package_root: str | None = None
    """Folder of its packages, None if not declared."""

    def __or__(self, other: Project) -> Project:
        """Merges both; this project's values take precedence."""
        return Project(
            name=self.name or other.name,
            requires_python=self.requires_python or other.requires_python,
            classifiers=self.classifiers or other.classifiers,
            dependencies=self.dependencies or other.dependencies,
            extras={**other.extras, **self.extras},
            groups={**other.groups, **self.groups},
            test_requires=self.test_requires or other.test_requires,
            package_root=self.package_root if self.package_root is not None else other.package_root,
        )

    def requirements(self, *extras: str) -> Requirements:
        """Returns the requirements of the project itself and of the named extras."""
        lines = list(self.dependencies)
        for extra in extras:
            lines += self.expand(extra)
        return Requirements(parse_lines(lines))

    def expand(self, extra: str) -> tuple[str, ...]:
        """Returns the lines of one extra."""
        return self.followed(self.extras.get(extra, ()), frozenset({extra}))

    def followed(self, lines: Iterable[str], seen: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Returns the lines, with references to the project's own extras (`name[extra]`) replaced by their lines."""
        found: list[str] = []
        for line in lines:
            inner = self._own_extras(line)
            if inner is None:
                found.append(line)
            for name in inner or ():
                found += self.followed(self.extras.get(name, ()), seen | {name}) if name not in seen else ()
        return tuple(found)

    def _own_extras(self, line: str) -> tuple[str, ...] | None:
        head, bracket, rest = line.partition("[")
        if not bracket or not self.name or normal(head.strip()) != normal(self.name):
            return None
        return tuple(name.strip() for name in rest.partition("]")[0].split(","))


Reader = Callable[[Read], Project]


def read_project(read: Read, readers: tuple[Reader, ...]) -> Project:
    """Merges the results of all readers; earlier readers take precedence."""
    project = Project()
    for reader in readers:
        project = project | reader(read)
    return project


PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
"""The files of a project's metadata that affect its environment."""
