"""Recipes: how the environments of repositories whose set-up cannot be inferred are made (data/environments/*.toml).

A file is named after its repository, `<owner>__<name>.toml`, and holds::

    repo = "owner/name"
    [defaults]                  keys that every version has, see `Recipe`
    [[version_rules]]           path, pattern (groups joined with dots), optionally version
    [[versions]]                versions = ["1.0", "1.1"], and keys that differ from the defaults
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tasks.adapters.uv.plan import Beside
from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName, RepoPath, Sha, path_component, repo_folder
from tasks.domain.outcome import RunnerKind
from tasks.environment.project_files.versions import VersionRule, numbers

INSTALLS = ("editable", "none", "build", "host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one group of versions is set up. The field names are the keys of the file."""

    python: str
    """Minor version."""
    exclude_newer: datetime
    """Nothing uploaded later is installed, UTC."""
    install: str
    """`editable` where tests look at the project's metadata, entry points or scripts; else `none`. `host` takes the
    interpreter that runs this with all it has, and installs nothing: for the bundled demo. `build` is for projects with
    compiled parts: `build_commands` are started in checkouts, without network, beside `build_requires`."""
    runner: RunnerKind
    packages: tuple[str, ...] = ()
    """PEP 508 lines. They win over the same distribution in requirement files."""
    requirements: tuple[str, ...] = ()
    """Requirement files of the checkout; the first of `a|b` that exists. A missing file asks for nothing."""
    constraints: tuple[str, ...] = ()
    """PEP 508: bounds on whatever pulls these distributions in."""
    drop: tuple[str, ...] = ()
    """Distributions left out of the requirement files: they do not build without the system's own libraries."""
    own: bool = True
    """Whether the project's own dependencies, as its files declare them, are installed."""
    extras: tuple[str, ...] = ()
    """The project's extras that are installed."""
    source_roots: tuple[str, ...] = ()
    """Empty for what the checkout itself says."""
    services: tuple[str, ...] = ()
    """What runs beside tests in their sandbox, by the names of files in `services/`."""
    test_args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """From a table in the file: `NAME=value`."""
    build_env: tuple[str, ...] = ()
    """Likewise, for building the metadata or the extension modules. `{version}` is the instance's version."""
    build_requires: tuple[str, ...] = ()
    """PEP 508: what the build commands need, locked like `packages`."""
    build_commands: tuple[tuple[str, ...], ...] = ()
    """One argv after the other, in the checkout. What they add to it is kept for every run of the code state."""
    build_files: tuple[tuple[str, str], ...] = ()
    """Path and text, from a table in the file: settings that are there for the build alone."""
    build_beside: tuple[Beside, ...] = ()
    """From a table in the file, path = `owner/name@commit`, or `owner/name` where the checkout has a submodule at path:
    other repositories (mirrored like any) whose files the build finds there."""
    build_libraries: tuple[str, ...] = ()
    """What the build takes from the system, by the names of pkg-config: `swt doctor` says whether it is there."""
    generated: tuple[tuple[str, str], ...] = ()
    """Path and text, from a table in the file. `{version}` is the instance's version."""


@dataclass(frozen=True, slots=True)
class Picked:
    """A recipe and how it was found."""

    recipe: Recipe
    name: str
    """`<file>#<first version of its group>`, with `~<version>` where that is only the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeBook:
    """Everything that one file says."""

    repo: RepoName
    file: str
    groups: tuple[tuple[tuple[str, ...], Recipe], ...]
    version_rules: tuple[VersionRule, ...]

    def pick(self, version: str | None) -> Picked | None:
        """The recipe for `version`: its own, else that of the nearest lower version of the same series, else none."""
        if version is None:
            return None
        for versions, recipe in self.groups:
            if version in versions:
                return Picked(recipe, f"{self.file}#{versions[0]}")
        return self._nearest(version)

    def _nearest(self, version: str) -> Picked | None:
        lower = [
            (numbers(known), versions, recipe)
            for versions, recipe in self.groups
            for known in versions
            if numbers(known) <= numbers(version) and numbers(known)[:1] == numbers(version)[:1]
        ]
        if not lower:
            return None
        _, versions, recipe = max(lower, key=lambda one: one[0])
        return Picked(recipe, f"{self.file}#{versions[0]}~{version}")


def load_recipes(folder: Path) -> dict[RepoName, RecipeBook]:
    """Every recipe file of a folder, by repository. Raises `BadInput` naming the file and the key."""
    books = [load_book(path) for path in sorted(folder.glob("*.toml"))]
    return {book.repo: book for book in books}


def libraries_of_builds(folder: Path) -> dict[RepoName, tuple[str, ...]]:
    """For each repository with compiled parts, the libraries that its builds take from the system."""
    builds = {
        repo: [recipe.build_libraries for _, recipe in book.groups if recipe.build_commands]
        for repo, book in load_recipes(folder).items()
    }
    return {repo: tuple(sorted({name for names in found for name in names})) for repo, found in builds.items() if found}


def load_book(path: Path) -> RecipeBook:
    """One recipe file. Raises `BadInput` naming the file and the key."""
    return _book(_File(path.name), _toml(path))


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name}: {error}", hint="this is not TOML") from error


@dataclass(frozen=True, slots=True)
class _File:
    """Where a value stands, for messages; and the checks that every kind of value goes through."""

    name: str

    def bad(self, key: str, problem: str, hint: str = "") -> BadInput:
        return BadInput(f"{self.name}: {key}: {problem}", hint=hint or "see tasks/environment/recipes.py for the keys")

    def text(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.bad(key, "must be a string")
        return value

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.bad(key, "must be a list of strings")
        return tuple(self.text(key, item) for item in value)

    def tables(self, key: str, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.bad(key, f"must be written as [[{key}]]")
        return value

    def table(self, key: str, value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise self.bad(key, "must be a table of strings")
        return {name: self.text(f"{key}.{name}", item) for name, item in value.items()}

    def only(self, where: str, table: Mapping[str, Any], allowed: set[str]) -> None:
        for key in table:
            if key not in allowed:
                raise self.bad(f"{where}{key}", "is not a key", hint=f"one of: {', '.join(sorted(allowed))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecipe:
    """Something that runs beside tests, in an environment of its own. The field names are the keys of the file, which
    is `services/<name>.toml`."""

    python: str
    """Minor version."""
    exclude_newer: datetime
    """Nothing uploaded later is installed, UTC."""
    packages: tuple[str, ...]
    command: tuple[str, ...]
    """What its interpreter is started with; `{port}` is the port that it is given."""
    env: tuple[str, ...]
    """From a table in the file: variables by which tests find it, `NAME=value`, with `{port}` likewise."""


def load_service(folder: Path, name: str) -> ServiceRecipe:
    """The service of a name that recipes give. Raises `BadInput` naming the file and the key."""
    path = folder / "services" / f"{path_component(name)}.toml"
    if not path.is_file():
        raise BadInput(f"services: there is no {path.name}", hint=f"see {path.parent}")
    table, file = _toml(path), _File(path.name)
    file.only("", table, set(ServiceRecipe.__dataclass_fields__))
    return ServiceRecipe(
        python=_python(file, "python", table.get("python")),
        exclude_newer=_moment(file, "exclude_newer", table.get("exclude_newer")),
        packages=file.texts("packages", table.get("packages")),
        command=file.texts("command", table.get("command")),
        env=_pairs(file.table("env", table.get("env"))),
    )


def _book(file: _File, table: dict[str, Any]) -> RecipeBook:
    file.only("", table, {"repo", "defaults", "version_rules", "versions"})
    repo = file.text("repo", table.get("repo"))
    if file.name != f"{repo_folder(repo)}.toml":
        raise file.bad("repo", f"{repo!r} does not fit the name of the file")
    defaults = table.get("defaults", {})
    rules = file.tables("version_rules", table.get("version_rules", []))
    groups = file.tables("versions", table.get("versions", []))
    if not groups:
        raise file.bad("versions", "is missing: at least one [[versions]] is needed")
    return RecipeBook(
        repo=RepoName(repo),
        file=file.name,
        groups=_groups(file, defaults, groups),
        version_rules=tuple(_rule(file, rule) for rule in rules),
    )


def _groups(
    file: _File, defaults: dict[str, Any], groups: list[dict[str, Any]]
) -> tuple[tuple[tuple[str, ...], Recipe], ...]:
    found: list[tuple[tuple[str, ...], Recipe]] = []
    for group in groups:
        versions = file.texts("versions.versions", group.get("versions"))
        twice = {version for known, _ in found for version in known if version in versions}
        if twice or not versions:
            raise file.bad("versions.versions", f"{', '.join(sorted(twice))} twice" if twice else "is empty")
        own = {key: value for key, value in group.items() if key != "versions"}
        found.append((versions, _recipe(file, f"versions[{versions[0]}].", {**defaults, **own})))
    return tuple(found)


_LISTS = (
    *("packages", "requirements", "constraints", "drop", "extras", "source_roots", "services", "test_args"),
    *("build_requires", "build_libraries"),
)
_TABLES = ("env", "build_env")


def _recipe(file: _File, where: str, table: dict[str, Any]) -> Recipe:
    file.only(where, table, set(Recipe.__dataclass_fields__))
    for key in ("python", "exclude_newer", "install", "runner"):
        if key not in table:
            raise file.bad(where + key, "is missing")
    own = table.get("own", True)
    if not isinstance(own, bool):
        raise file.bad(f"{where}own", "must be true or false")
    lists = {key: file.texts(where + key, table[key]) for key in _LISTS if key in table}
    pairs = {key: _pairs(file.table(where + key, table[key])) for key in _TABLES if key in table}
    commands = tuple(file.texts(f"{where}build_commands", line) for line in table.get("build_commands", []))
    if bool(commands) != (table["install"] == "build"):
        raise file.bad(f"{where}build_commands", 'go with install = "build", and it with them')
    return Recipe(
        python=_python(file, f"{where}python", table["python"]),
        exclude_newer=_moment(file, f"{where}exclude_newer", table["exclude_newer"]),
        install=_one_of(file, f"{where}install", table["install"], INSTALLS),
        runner=RunnerKind(_one_of(file, f"{where}runner", table["runner"], tuple(RunnerKind))),
        own=own,
        generated=_texts(file.table(f"{where}generated", table.get("generated", {}))),
        build_files=_texts(file.table(f"{where}build_files", table.get("build_files", {}))),
        build_commands=commands,
        build_beside=_beside(file, f"{where}build_beside", table.get("build_beside", {})),
        **lists,
        **pairs,
    )


_BESIDE = re.compile(r"(?P<repo>[^/@\s]+/[^/@\s]+)(?:@(?P<commit>[0-9a-f]{40}))?")


def _beside(file: _File, key: str, value: Any) -> tuple[Beside, ...]:
    found = {path: _BESIDE.fullmatch(text) for path, text in sorted(file.table(key, value).items())}
    for path, match in found.items():
        if match is None:
            raise file.bad(f"{key}.{path}", "must be owner/name, or owner/name@ and 40 digits of a commit")
    return tuple(
        Beside(path=RepoPath(path), repo=RepoName(one["repo"]), commit=Sha(one["commit"]) if one["commit"] else None)
        for path, one in found.items()
        if one
    )


def _texts(table: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(table.items()))


def _pairs(table: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in sorted(table.items()))


def _one_of(file: _File, key: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise file.bad(key, f"{value!r} is not one of {', '.join(allowed)}")
    return str(value)


def _python(file: _File, key: str, value: Any) -> str:
    if not re.fullmatch(r"3\.\d+", file.text(key, value)):
        raise file.bad(key, f"{value!r} is not a minor version such as 3.9")
    return str(value)


def _moment(file: _File, key: str, value: Any) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise file.bad(key, "must be a full timestamp with a zone, 2024-03-01T00:00:00Z")
    return value


def _rule(file: _File, table: dict[str, Any]) -> VersionRule:
    file.only("version_rules.", table, {"path", "pattern", "version"})
    path = file.text("version_rules.path", table.get("path"))
    pattern = file.text("version_rules.pattern", table.get("pattern"))
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise file.bad("version_rules.pattern", f"{pattern!r}: {error}") from error
    return VersionRule(path, compiled, file.text("version_rules.version", table.get("version", "")))
