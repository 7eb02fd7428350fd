"""What an environment is made of, and what comes out of building it."""

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
    """Folder that holds its standard library; a sandbox binds it read-only at the same path."""

    @property
    def minor(self) -> str:
        """`3.9`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def number(self) -> tuple[int, ...]:
        """`(3, 9, 18)`, for comparing."""
        return tuple(int(part) for part in self.version.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A small file by its content."""

    path: RepoPath
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Another repository's files that a build finds in the checkout: a submodule, or a library it would download."""

    path: RepoPath
    """The folder in the checkout that they fill."""
    repo: RepoName
    commit: Sha | None
    """Null for the commit that the checkout names for its submodule at `path`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionSteps:
    """How the modules that only a compiler makes are built in a checkout."""

    tools: EnvironmentPlan
    """The environment that the commands are started in."""
    commands: tuple[tuple[str, ...], ...]
    """One argv after the other, in the checkout."""
    env: tuple[str, ...] = ()
    """`NAME=value` pairs for the commands."""
    files: tuple[TextFile, ...] = ()
    """Settings that are written into the checkout for the build, and are not there when tests run."""
    beside: tuple[Beside, ...] = ()
    libraries: tuple[str, ...] = ()
    """What is taken from the system, by the names of pkg-config."""
    tools_id: EnvId | None = None
    """The environment of `tools`; null until it is built."""

    @property
    def step(self) -> str:
        """How `Environment.install` names the way of building: `extensions:<content key>:<libraries>`.

        What is installed beside the project, for its tests, is no part of it: modules are not built anew for that.
        """
        facts = (self.tools_id, self.commands, self.env, jsonable(tuple(asdict(file) for file in self.files)))
        way = content_key("extensions", *facts, jsonable(tuple(asdict(one) for one in self.beside)))
        return f"{STEP}{way}:{','.join(self.libraries)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """How packages are built that have no wheel here: nothing to say where their own wishes do."""

    constraints: tuple[str, ...] = ()
    """PEP 508: bounds on what builds install for themselves, `setuptools<58`."""
    requires: tuple[tuple[str, str], ...] = ()
    """(distribution, what its build needs and does not ask for)."""
    wheels_only: tuple[str, ...] = ()
    """Distributions that are not built: a version with a wheel is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPlan:
    """Everything that decides an environment, before its requirements are locked."""

    repo: RepoName
    project: str = ""
    """Name of the project's own distribution: no release of it may come from the registry. Empty where unknown."""
    version: str | None
    """The repository's version as the recipes count it; null where it could not be told."""
    rung: str
    """`recipe`, or the step of the inference that it comes from."""
    recipe: str
    """`<file>#<table>` in data/environments, or `inferred`."""
    interpreter: Interpreter
    requirements: tuple[str, ...]
    """PEP 508, in order; the project's own dependencies are among them."""
    spare: frozenset[str] = frozenset()
    """Normal names of requirements that only tests ask for: one that does not build here may be left out."""
    constraints: tuple[str, ...] = ()
    """PEP 508: bounds on what the requirements pull in."""
    exclude_newer: datetime
    """Nothing uploaded later is seen, UTC."""
    editable: bool
    """Whether the checkout's own metadata is installed, pointing at the checkout."""
    project_files: tuple[TextFile, ...] = ()
    """The files that the metadata is made from, where `editable`."""
    build_env: tuple[str, ...] = ()
    """`NAME=value` pairs for building the metadata."""
    building: Building = Building()
    generated: tuple[TextFile, ...] = ()
    """Files that a build would leave in the checkout and that its code imports."""
    source_roots: tuple[str, ...]
    runner: RunnerKind
    test_args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    extensions: ExtensionSteps | None = None
    """Null where the checkout can be imported as it is."""
    services: tuple[str, ...] = ()
    """What runs beside tests: names, and `name=env_id` once the environment of the service is there."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What happens after the lock is installed, as `Environment.install` has it."""
        first = ("editable",) if self.editable else ("path",)
        beside = (f"service:{service}" for service in self.services)
        last = (self.extensions.step,) if self.extensions else ()
        return (*first, "compile", *(f"generate:{file.path}" for file in self.generated), *beside, *last)

    def env_id(self, lock: str) -> EnvId:
        """Content key of what decides the result: all but the cutoff and the recipe's name, which `lock` stands for."""
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
    """What a checkout of one code state has to be given besides; null where it needs nothing."""

    @property
    def binds(self) -> tuple[Path, ...]:
        """Host folders that a sandbox shows read-only at the same path."""
        return (self.interpreter.base_prefix, self.root)

    def content(self, folder: Path) -> str:
        """Name of what one of `binds` holds for good; empty where that may change: the system, the host's environment.

        `cpython-3.9.18` or `environment-<env_id>`.
        """
        if self.root.name != self.environment.env_id or folder.is_relative_to("/usr"):
            return ""
        return f"environment-{self.root.name}" if folder == self.root else f"{CPYTHON}{self.interpreter.version}"

    @property
    def made(self) -> frozenset[RepoPath]:
        """Every file that a checkout is given: none of them is a change of anybody's."""
        return frozenset((*(file.path for file in self.generated), *(self.extensions.paths if self.extensions else ())))

    @property
    def generated(self) -> tuple[TextFile, ...]:
        """Files to copy into a checkout before its code is run."""
        return tuple(self._generated())

    def _generated(self) -> Iterable[TextFile]:
        folder = self.root / "generated"
        for step in self.environment.install:
            if step.startswith("generate:"):
                path = RepoPath(step.removeprefix("generate:"))
                yield TextFile(path=path, text=(folder / path).read_text(encoding="utf-8"))
