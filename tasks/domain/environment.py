"""What a test process finds installed, as a lock."""

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
    """One built environment. `env_id` is the content key of all that decides it, so equal locks are one environment."""

    env_id: EnvId
    repo: RepoName
    python: str
    """Minor version, `3.9`; the patch release in use is `python_full`."""
    python_full: str
    lock: str
    """Hashed requirements, one per line, without any index address."""
    install: tuple[str, ...]
    """Steps after the lock: `editable` (metadata of the checkout), `compile`, `generate:<path>` …"""
    exclude_newer: datetime | None
    """Upload cutoff that the lock was resolved with, UTC; null where none was in force."""
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
    """The extension modules that the runs of an instance in one code state are given: what a build left, and its cost.

    Both states have the same `extension_key`, and one build, where the golden patch changes nothing that is compiled.
    """

    extension_key: str
    """Content key of all that decides the modules: tools, commands, base commit, patches of the sources, toolchain."""
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    code_state: CodeState
    tools: EnvId
    """The environment that they were built in."""
    files: int
    size: int
    """Bytes of the files together."""
    cpu_s: float
    """User plus system seconds of the build: less where the compiler cache knew the sources."""
    wall_s: float
    toolchain: str
    """Names and versions of the compilers and libraries that were the machine's."""


@table("instance_key", "rung", "tried_at")
@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentAttempt:
    """One rung of the ladder that looked for an instance's environment; the last one with `env_id` is in use."""

    instance_key: InstanceKey
    instance_id: InstanceId
    rung: str
    """`recipe`, or the inference step that was tried, and what was changed of it after it failed."""
    env_id: EnvId | None
    """Null where the rung failed: it does not build, or what was built is not ready. Also where tests skip themselves
    in it; it stands in a later row where nothing better was to be had."""
    cause: str = ""
    """A `Cause`; empty on success."""
    error: str
    """What the tool said around its error, or the end of why tests cannot be collected; empty on success."""
    seconds: float
    tried_at: datetime
    basis: str = ""
    """Content key of all that decides the ladder of an instance: with another one it is climbed again."""


class Cause(StrEnum):
    """Why an environment cannot be used for an instance.

    `build`           its packages cannot be found together, or do not build
    `missing-module`  something that is imported is not installed
    `missing-plugin`  pytest is asked for an option or a fixture of a plugin that is not installed
    `variable`        tests look for a folder in an environment variable that nothing sets
    `python`          the standard library or the grammar of another Python is needed
    `incompatible`    something that is installed does not work together with the rest
    `not-compiled`    the project's own extension modules are not there
    `project`         what fails is the project's own code or tests
    `limit`           it ran into a limit of the sandbox
    `skips`           tests skip themselves for want of something that the project names, or import it in their bodies:
                      it can be used all the same
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
    """Whether an instance's golden test files can be collected in an environment, on the fixed code and, as they were,
    on the base commit. No test is run."""

    readiness_key: str
    """Content key of all that decides it."""
    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    ready: bool
    cause: str
    """A `Cause`; where it is ready, empty or `skips`."""
    names: tuple[str, ...]
    """What is missing or to blame: modules, plugins, Python versions."""
    detail: str
    """The end of what was said; empty where nothing is missing."""
    cases: int
    """Cases collected on the fixed code."""
    wall_s: float
    cpu_s: float | None
    """Null where the sandbox cannot tell."""
    checked_at: datetime


@table("instance_key", "env_id")
@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenCase:
    """A case of the suite's own that reads a data file which the golden tests change, where these hold no test module:
    what a data-driven suite has for golden tests. Collected on the fixed code, with the golden tests in place."""

    instance_key: InstanceKey
    instance_id: InstanceId
    env_id: EnvId
    case_id: CaseId
    path: RepoPath
    """The module, or the document, that the case is collected from."""
    argument: str
    """What the runner is given to run it: a pytest node id, or the file."""
    data: tuple[RepoPath, ...]
    """The changed files that it reads."""
    found_by: str
    """`opened` it opened them while it ran; `named` its id, parameters or source name them, and no case opened them;
    `module` its module read them while it was collected; `collected` they are tests themselves, doctests for one."""
    at_base: bool
    """Whether the base commit has the case too."""
