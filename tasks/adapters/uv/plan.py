"""Data types: an interpreter, the plan of an environment, a built environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from tasks.adapters.extensions.products import STEP, Products
from tasks.adapters.sandbox.base import CPYTHON
from tasks.domain.environment import Environment
from tasks.domain.names import EnvId, RepoName, RepoPath, Sha, content_key, jsonable
from tasks.domain.outcome import RunnerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """One CPython on this machine."""

    path: Path
    """The executable, outside any virtual environment."""
    version: str
    """Full version, `3.9.18`."""
    base_prefix: Path
    """Folder of its standard library; a sandbox mounts it read-only at the same path."""

    @property
    def minor(self) -> str:
        """`3.9`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def number(self) -> tuple[int, ...]:
        """`(3, 9, 18)`, for comparison."""
        return tuple(int(part) for part in self.version.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """Path and content of a small file."""

    path: RepoPath
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Files of another repository that a build expects in the checkout: a submodule, or a library it would download."""

    path: RepoPath
    """Folder in the checkout for these files."""
    repo: RepoName
    commit: Sha | None
    """None for the commit that the checkout names for its submodule at `path`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionSteps:
    """How to build the compiled modules of a checkout."""

    tools: EnvironmentPlan
    """The environment in which the commands run."""
    commands: tuple[tuple[str, ...], ...]
    """One argv after the other, run in the checkout."""
    env: tuple[str, ...] = ()
    """`NAME=value` pairs for the commands."""
    files: tuple[TextFile, ...] = ()
    """Settings written into the checkout for the build only, not for test runs."""
    beside: tuple[Beside, ...] = ()
    libraries: tuple[str, ...] = ()
    """Required system libraries, by their pkg-config names."""
    tools_id: EnvId | None = None
    """The environment of `tools`; None until it is built."""

    @property
    def step(self) -> str:
        """Name of the build in `Environment.install`: `extensions:<content key>:<libraries>`.

        Leaves out packages installed only for tests: they must not cause a rebuild of the modules.
        """
        facts = (self.tools_id, self.commands, self.env, jsonable(tuple(asdict(file) for file in self.files)))
        way = content_key("extensions", *facts, jsonable(tuple(asdict(one) for one in self.beside)))
        return f"{STEP}{way}:{','.join(self.libraries)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """Settings for building packages without a wheel; empty where a package's own settings suffice."""

    constraints: tuple[str, ...] = ()
    """PEP 508 bounds on what builds install for themselves, `setuptools<58`."""
    requires: tuple[tuple[str, str], ...] = ()
    """(distribution, a build requirement that it does not declare)."""
    wheels_only: tuple[str, ...] = ()
    """Distributions that are not built: only versions with a wheel are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPlan:
    """Everything that decides an environment, before its requirements are locked."""

    repo: RepoName
    project: str = ""
    """Name of the project's own distribution, which must not come from the registry. Empty if unknown."""
    version: str | None
    """The repository's version as in the recipes; None if unknown."""
    rung: str
    """`recipe`, or the inference step that produced the plan."""
    recipe: str
    """`<file>#<table>` in data/environments, or `inferred`."""
    interpreter: Interpreter
    requirements: tuple[str, ...]
    """PEP 508, in order, including the project's own dependencies."""
    spare: frozenset[str] = frozenset()
    """Normalized names of requirements for tests only: one that does not build here may be left out."""
    constraints: tuple[str, ...] = ()
    """PEP 508 bounds on transitive requirements."""
    exclude_newer: datetime
    """Ignore all later uploads, UTC."""
    editable: bool
    """Whether the checkout's own metadata is installed, pointing at the checkout."""
    project_files: tuple[TextFile, ...] = ()
    """Source files of the metadata, if `editable`."""
    build_env: tuple[str, ...] = ()
    """`NAME=value` pairs for building the metadata."""
    building: Building = Building()
    generated: tuple[TextFile, ...] = ()
    """Files that a build would create in the checkout and that its code imports."""
    source_roots: tuple[str, ...]
    runner: RunnerKind
    test_args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    extensions: ExtensionSteps | None = None
    """None if the checkout can be imported without building."""
    services: tuple[str, ...] = ()
    """Services that run next to tests: names, or `name=env_id` once the environment of the service is built."""

    @property
    def steps(self) -> tuple[str, ...]:
        """Steps after installing the lock, as in `Environment.install`."""
        first = ("editable",) if self.editable else ("path",)
        beside = (f"service:{service}" for service in self.services)
        last = (self.extensions.step,) if self.extensions else ()
        return (*first, "compile", *(f"generate:{file.path}" for file in self.generated), *beside, *last)

    def env_id(self, lock: str) -> EnvId:
        """Return a content key of everything that decides the result. `lock` represents the cutoff and the recipe's
        name."""
        parts = asdict(self)
        kept = ("repo", "editable", "project_files", "build_env", "generated", "source_roots", "test_args", "env")
        facts = {name: jsonable(parts[name]) for name in kept}
        facts |= {"building": jsonable(parts["building"])} if self.building != Building() else {}
        return EnvId(content_key("environment", self.interpreter.version, lock, self.steps, str(self.runner), facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltEnvironment:
    """An environment that is ready to run tests.

    `root` holds::

        bin/python             the interpreter to start
        environment.json       the row
        generated/<path>       files to copy into every checkout
    """

    environment: Environment
    root: Path
    python: Path
    interpreter: Interpreter
    extensions: Products | None = None
    """Additional files for a checkout of one code state; None if it needs none."""

    @property
    def binds(self) -> tuple[Path, ...]:
        """Host folders that a sandbox mounts read-only at the same path."""
        return (self.interpreter.base_prefix, self.root)

    def content(self, folder: Path) -> str:
        """Return the name of the immutable content of one of `binds`: `cpython-3.9.18` or `environment-<env_id>`.

        Empty for folders that may change: the system, the host's environment.
        """
        if self.root.name != self.environment.env_id or folder.is_relative_to("/usr"):
            return ""
        return f"environment-{self.root.name}" if folder == self.root else f"{CPYTHON}{self.interpreter.version}"

    @property
    def made(self) -> frozenset[RepoPath]:
        """All files added to a checkout; they never count as changes."""
        return frozenset((*(file.path for file in self.generated), *(self.extensions.paths if self.extensions else ())))

    @property
    def generated(self) -> tuple[TextFile, ...]:
        """Files to copy into a checkout before its code runs."""
        return tuple(self._generated())

    def _generated(self) -> Iterable[TextFile]:
        folder = self.root / "generated"
        for step in self.environment.install:
            if step.startswith("generate:"):
                path = RepoPath(step.removeprefix("generate:"))
                yield TextFile(path=path, text=(folder / path).read_text(encoding="utf-8"))
