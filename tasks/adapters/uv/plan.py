"""What an environment is made of, and what comes out of building it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from tasks.adapters.sandbox.base import CPYTHON
from tasks.domain.environment import Environment
from tasks.domain.names import EnvId, RepoName, RepoPath, content_key, jsonable
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
    generated: tuple[TextFile, ...] = ()
    """Files that a build would leave in the checkout and that its code imports."""
    source_roots: tuple[str, ...]
    runner: RunnerKind
    test_args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        """What happens after the lock is installed, as `Environment.install` has it."""
        first = ("editable",) if self.editable else ("path",)
        return (*first, "compile", *(f"generate:{file.path}" for file in self.generated))

    def env_id(self, lock: str) -> EnvId:
        """Content key of what decides the result: all but the cutoff and the recipe's name, which `lock` stands for."""
        parts = asdict(self)
        kept = ("repo", "editable", "project_files", "build_env", "generated", "source_roots", "test_args", "env")
        facts = {name: jsonable(parts[name]) for name in kept}
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
    def generated(self) -> tuple[TextFile, ...]:
        """Files to copy into a checkout before its code is run."""
        return tuple(self._generated())

    def _generated(self) -> Iterable[TextFile]:
        folder = self.root / "generated"
        for step in self.environment.install:
            if step.startswith("generate:"):
                path = RepoPath(step.removeprefix("generate:"))
                yield TextFile(path=path, text=(folder / path).read_text(encoding="utf-8"))
