"""The installed environment of a test process, as a lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import CaseId, EnvId, InstanceId, InstanceKey, RepoName, RepoPath
from tasks.domain.outcome import CodeState, RunnerKind
from tasks.domain.table import table


@table("env_id", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One built environment. `env_id` is the content key of all its inputs, so equal locks are one environment."""

    env_id: EnvId
    repo: RepoName
    python: str
    """Minor version, `3.9`; `python_full` has the patch release."""
    python_full: str
    lock: str
    """Hashed requirements, one per line, without any index address."""
    install: tuple[str, ...]
    """Steps after the lock: `editable` (metadata of the checkout), `compile`, `generate:<path>` …"""
    exclude_newer: datetime | None
    """Upload cutoff for resolving the lock, UTC; null if there was none."""
    runner: RunnerKind
    test_args: tuple[str, ...]
    """Extra arguments for the repository's own test runner."""
    env: tuple[str, ...]
    """`NAME=value` pairs set for every test process."""
    source_roots: tuple[str, ...]
    """Folders of the checkout that are importable, relative to its root: `("",)` or `("src",)`."""
    recipe: str
    """`<file>#<table>` in data/environments, or `inferred`."""
    built_at: datetime
    build_seconds: float


@table("instance_key", "env_id", "code_state")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionBuild:
    """The extension modules for the runs of an instance in one code state: the result of a build and its cost.

    Both states share one `extension_key`, and one build, if the golden patch changes no compiled source.
    """

    extension_key: str
    """Content key of all inputs of the build: tools, commands, base commit, patches of the sources, toolchain."""
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    code_state: CodeState
    tools: EnvId
    """The environment in which they were built."""
    files: int
    size: int
    """Total bytes of the files."""
    cpu_s: float
    """User plus system seconds of the build; cached compilations reduce it."""
    wall_s: float
    toolchain: str
    """Names and versions of the machine's compilers and libraries."""


@table("instance_key", "rung", "tried_at")
@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentAttempt:
    """One plan that was tried for an instance's environment; the last one with `env_id` is in use."""

    instance_key: InstanceKey
    instance_id: InstanceId
    rung: str
    """`recipe`, or the inference step, with the adjustments made after it failed."""
    env_id: EnvId | None
    """Null if the plan failed: the build fails or its result is not ready. Also null if tests skip themselves in it; a
    later row then has it if no better environment was found."""
    cause: str = ""
    """A `Cause`; empty on success."""
    error: str
    """Output of the tool around its error, or the end of the collection errors; empty on success."""
    seconds: float
    tried_at: datetime
    basis: str = ""
    """Content key of all inputs of the search: other inputs start a new search."""


class Cause(StrEnum):
    """Why an environment cannot be used for an instance.

    `build`           its packages have no common resolution, or do not build
    `missing-module`  an imported module is not installed
    `missing-plugin`  tests use an option or a fixture of a pytest plugin that is not installed
    `variable`        tests read a folder from an environment variable that is not set
    `python`          the standard library or the grammar of another Python is needed
    `incompatible`    an installed package does not work with the others
    `not-compiled`    the project's own extension modules are missing
    `project`         the project's own code or tests fail
    `limit`           the collection reached a limit of the sandbox
    `skips`           a dependency that the project declares is missing, so tests skip, or import it in their bodies;
                      the environment can still be used
    """

    BUILD = "build"
    MISSING_MODULE = "missing-module"
    MISSING_PLUGIN = "missing-plugin"
    VARIABLE = "variable"
    PYTHON = "python"
    INCOMPATIBLE = "incompatible"
    NOT_COMPILED = "not-compiled"
    PROJECT = "project"
    LIMIT = "limit"
    SKIPS = "skips"


@table("readiness_key")
@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether an instance's golden test files can be collected in an environment. No test is run.

    The golden test files are collected on the fixed code, and their earlier versions on the base commit.
    """

    readiness_key: str
    """Content key of all its inputs."""
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    ready: bool
    cause: str
    """A `Cause`; if ready, empty or `skips`."""
    names: tuple[str, ...]
    """The missing or failing modules, plugins, Python versions."""
    detail: str
    """The end of the output; empty if nothing is missing."""
    cases: int
    """Cases collected on the fixed code."""
    wall_s: float
    cpu_s: float | None
    """Null if the sandbox cannot measure it."""
    checked_at: datetime


@table("instance_key", "env_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenCase:
    """A case of the existing suite that reads a data file which the golden tests change.

    A data-driven suite without test modules uses these as golden tests. They are collected on the fixed code, with the
    golden tests applied.
    """

    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    case_id: CaseId
    path: RepoPath
    """The module or document from which the case is collected."""
    argument: str
    """The runner's argument to run it: a pytest node id, or the file."""
    data: tuple[RepoPath, ...]
    """The changed files that it reads."""
    found_by: str
    """`opened`: the case opened the files while it ran. `named`: its id, parameters or source name them, and no case
    opened them. `module`: its module read them during collection. `collected`: they are tests themselves, such as
    doctests."""
    at_base: bool
    """Whether the base commit has the case too."""
