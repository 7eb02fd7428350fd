"""Loads the recipes of environments that cannot be inferred (data/environments/*.toml).

A file is named after its repository, `<owner>__<name>.toml`, and contains::

    repo = "owner/name"
    [defaults]                  keys that every version has, see `Recipe`
    [[version_rules]]           path, pattern (groups joined with dots), optionally version
    [[versions]]                versions = ["1.0", "1.1"], and keys that differ from the defaults
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, Strict, StringConstraints, model_validator

from tasks.adapters.toml_files import Texts, TomlTable, checked, read_toml
from tasks.adapters.uv.plan import Beside
from tasks.domain.errors import BadInput
from tasks.domain.names import RepoName, RepoPath, Sha, path_component, repo_folder
from tasks.domain.outcome import RunnerKind
from tasks.environment.project_files.versions import VersionRule, numbers

KEYS = "tasks/environment/recipes.py documents the keys"
"""Hint of every error."""
Minor = Annotated[str, StringConstraints(pattern=r"^3\.\d+$")]


def _other_repository(text: str) -> str:
    if not re.fullmatch(r"[^/@\s]+/[^/@\s]+(@[0-9a-f]{40})?", text):
        raise ValueError("it should be owner/name, or owner/name@ and the 40 digits of a commit")
    return text


class Recipe(TomlTable):
    """The set-up of one group of versions. The field names are the keys of the file."""

    versions: Texts = Field(min_length=1)
    """The project's versions that use this recipe."""
    python: Minor
    exclude_newer: AwareDatetime
    """Distributions uploaded later are not installed."""
    install: Literal["editable", "none", "build", "host"]
    """`editable` if tests use the project's metadata, entry points or scripts; else `none`.

    `host` uses the running interpreter with its packages and installs nothing; it is for the bundled demo. `build` is
    for projects with compiled parts: `build_commands` run in checkouts, without network, with `build_requires`
    installed."""
    runner: Annotated[RunnerKind, Strict(False)]
    packages: Texts = ()
    """PEP 508 lines. They override the same distribution in requirement files."""
    requirements: Texts = ()
    """Requirement files of the checkout; the first existing one of `a|b`. Missing files are ignored."""
    constraints: Texts = ()
    """PEP 508 bounds on indirect dependencies."""
    drop: Texts = ()
    """Distributions to omit from the requirement files, because they need system libraries to build."""
    own: bool = True
    """Whether to install the project's own declared dependencies."""
    extras: Texts = ()
    """The project's extras to install."""
    source_roots: Texts = ()
    """Folders with the importable packages; empty to use what the checkout declares."""
    services: Texts = ()
    """Services that run beside the tests in their sandbox, by the names of files in `services/`."""
    test_args: Texts = ()
    env: Mapping[str, str] = {}
    build_env: Mapping[str, str] = {}
    """Variables for building the metadata or the extension modules. `{version}` is the instance's version."""
    build_requires: Texts = ()
    """PEP 508 requirements of the build commands, locked like `packages`."""
    build_commands: Annotated[tuple[Texts, ...], Strict(False)] = ()
    """Argument lists, run one after the other in the checkout. The files that they add are used in every run of the
    code state."""
    build_files: Mapping[str, str] = {}
    """Path and text of settings that exist only during the build."""
    build_beside: Mapping[str, Annotated[str, AfterValidator(_other_repository)]] = {}
    """Path = `owner/name@commit`, or `owner/name` if the checkout has a submodule at path: other mirrored repositories
    whose files the build needs there."""
    build_libraries: Texts = ()
    """System libraries that the build needs, by pkg-config name; `swt doctor` reports missing ones."""
    generated: Mapping[str, str] = {}
    """Path and text. `{version}` is the instance's version."""

    @model_validator(mode="after")
    def _check_build(self) -> Self:
        if bool(self.build_commands) != (self.install == "build"):
            raise ValueError('has build_commands without install = "build", or the other way round')
        return self

    @property
    def beside(self) -> tuple[Beside, ...]:
        """The parsed entries of `build_beside`."""
        rows = [(path, *text.partition("@")) for path, text in sorted(self.build_beside.items())]
        return tuple(
            Beside(path=RepoPath(path), repo=RepoName(repo), commit=Sha(commit) if commit else None)
            for path, repo, _, commit in rows
        )


@dataclass(frozen=True, slots=True)
class Picked:
    """A recipe and its identifier."""

    recipe: Recipe
    name: str
    """`<file>#<first version of its group>`, with `~<version>` if it is only the nearest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeBook:
    """The contents of one recipe file."""

    repo: RepoName
    file: str
    recipes: tuple[Recipe, ...]
    version_rules: tuple[VersionRule, ...]

    def pick(self, version: str | None) -> Picked | None:
        """Returns the recipe of `version`, else that of the nearest lower version of the same series, else None."""
        if version is None:
            return None
        for recipe in self.recipes:
            if version in recipe.versions:
                return Picked(recipe, f"{self.file}#{recipe.versions[0]}")
        return self._nearest(version)

    def _nearest(self, version: str) -> Picked | None:
        lower = [
            (numbers(known), recipe)
            for recipe in self.recipes
            for known in recipe.versions
            if numbers(known) <= numbers(version) and numbers(known)[:1] == numbers(version)[:1]
        ]
        if not lower:
            return None
        _, recipe = max(lower, key=lambda one: one[0])
        return Picked(recipe, f"{self.file}#{recipe.versions[0]}~{version}")


def load_recipes(folder: Path) -> dict[RepoName, RecipeBook]:
    """Loads every recipe file of a folder, by repository. Raises `BadInput` with the file and the key."""
    books = [load_book(path) for path in sorted(folder.glob("*.toml"))]
    return {book.repo: book for book in books}


def libraries_of_builds(folder: Path) -> dict[RepoName, tuple[str, ...]]:
    """Returns the system libraries that builds need, for each repository with compiled parts."""
    builds = {
        repo: [recipe.build_libraries for recipe in book.recipes if recipe.build_commands]
        for repo, book in load_recipes(folder).items()
    }
    return {repo: tuple(sorted({name for names in found for name in names})) for repo, found in builds.items() if found}


class RuleTable(TomlTable):
    """A table `[[version_rules]]`, see `VersionRule`."""

    path: str
    pattern: re.Pattern[str]
    version: str = ""

    def compiled(self) -> VersionRule:
        return VersionRule(self.path, re.compile(self.pattern.pattern, re.MULTILINE), self.version)


class RecipeFile(TomlTable):
    """A file of recipes. `load_book` validates defaults and versions together."""

    repo: str
    defaults: Mapping[str, Any] = {}
    version_rules: Annotated[tuple[RuleTable, ...], Strict(False)] = ()
    versions: Annotated[tuple[Mapping[str, Any], ...], Strict(False), Field(min_length=1)]


def load_book(path: Path) -> RecipeBook:
    """Loads one recipe file. Raises `BadInput` with the file and the key."""
    file = checked(RecipeFile, read_toml(path), path.name, KEYS)
    if path.name != f"{repo_folder(file.repo)}.toml":
        raise BadInput(f"{path.name}: repo {file.repo!r} does not fit the name of the file", hint="rename the file")
    recipes = tuple(
        checked(Recipe, {**file.defaults, **group}, f"{path.name}: versions {place}", KEYS)
        for place, group in enumerate(file.versions, 1)
    )
    uses = Counter(version for recipe in recipes for version in set(recipe.versions))
    if twice := sorted(version for version, times in uses.items() if times > 1):
        raise BadInput(f"{path.name}: {', '.join(twice)} twice in versions", hint="keep each in one group")
    rules = tuple(one.compiled() for one in file.version_rules)
    return RecipeBook(repo=RepoName(file.repo), file=path.name, recipes=recipes, version_rules=rules)


class ServiceRecipe(TomlTable):
    """A service that runs beside tests, in its own environment. The field names are the keys of
    `services/<name>.toml`."""

    python: Minor
    exclude_newer: AwareDatetime
    """Distributions uploaded later are not installed."""
    packages: Texts
    command: Texts
    """Arguments of its interpreter; `{port}` is the assigned port."""
    env: Mapping[str, str]
    """Variables with the service's address for the tests; `{port}` is the assigned port."""


def load_service(folder: Path, name: str) -> ServiceRecipe:
    """Loads a service by the name in a recipe. Raises `BadInput` with the file and the key."""
    path = folder / "services" / f"{path_component(name)}.toml"
    if not path.is_file():
        raise BadInput(f"services: there is no {path.name}", hint=f"see {path.parent}")
    return checked(ServiceRecipe, read_toml(path), path.name, KEYS)


def assignments(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Returns `NAME=value` for each variable, sorted."""
    return tuple(f"{name}={value}" for name, value in sorted(variables.items()))
