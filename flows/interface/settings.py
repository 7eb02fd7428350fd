"""Settings, read once at the edge and passed down."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks.adapters.coordination.postgres import open_session
from tasks.adapters.files import regular_file
from tasks.adapters.git.sources import PLACE, source_of
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.names import RepoName
from tasks.domain.outcome import SandboxKind
from tasks.domain.places import Places
from tasks.domain.run import Limits

PROJECT = Path(__file__).resolve().parents[2]
"""Folder that contains the package `flows`: a checkout, or site-packages."""

INSTALLED = PROJECT / "flows" / "resources"
"""Copy of a checkout's `sql/` and `data/` in the wheel (setup.py)."""

RESOURCES = INSTALLED if INSTALLED.is_dir() else PROJECT
"""Folder from which `sql/` and the bundled part of `data/` are read."""

GIT = f"https://github.com/{PLACE}.git"

ROOM = 8 << 30
"""Free bytes that an in-memory file system needs to be used for scratch: some trees of 70 MB, and what their runs
write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Paths, services and limits of this machine."""

    store: str = field(default_factory=lambda: str(_home() / "store"))
    """Root of the warehouse: a folder or any URL that pyarrow supports. `SWT_STORE`."""
    leases: str = field(default="", repr=False)
    """`postgresql://…` if machines share the store and claim work (tasks/adapters/coordination/). Empty for a single
    machine. `SWT_LEASES`."""
    lease_s: int = 60
    """Seconds of a lease: after a machine dies, its work is blocked this long. All machines need the same value.
    `SWT_LEASE_S`."""
    cache: Path = field(default_factory=lambda: _home() / "cache")
    """Rebuildable files: mirrors, environments, packed trees. Symlinks are resolved, because containers see the folder
    under the same path. `SWT_CACHE`."""
    database: Path = field(default_factory=lambda: _home() / "swt.duckdb")
    """The DuckDB file of views. `SWT_DATABASE`."""
    scratch: Path = field(default_factory=lambda: scratch_folder(Path("/dev/shm")))  # noqa: S108 - ours alone
    """Trees and private folders of current runs; in memory if there is room. `SWT_SCRATCH`."""
    sandbox: SandboxKind | None = None
    """None selects the first sandbox that is available. `SWT_SANDBOX`."""
    open_server: bool = False
    """Whether a worker accepts flow runs of a Prefect server without a password. `SWT_OPEN_SERVER`."""
    trusted: bool = False
    """Whether code under test may run in a sandbox without isolation. `SWT_TRUSTED`."""
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Maximum concurrent test processes. `SWT_WORKERS`."""
    callers: int = 8
    """Maximum concurrent methods with a model; each provider also has its own limit. `SWT_CALLERS`."""
    models: Path = RESOURCES / "data"
    """Folder of the bundled models.toml and prices.toml."""
    own_models: Path | None = None
    """File of your own model cards and prices, which override the bundled ones (docs/models.md). `SWT_MODELS`."""
    limits: Limits = field(default_factory=Limits)
    """Limits of one test run. They are part of its content key. `SWT_WALL_S` sets the seconds. If one test hangs, all
    runs of its instance take that long."""
    github: str = "https://api.github.com/graphql"
    """Address of GitHub's GraphQL API. `SWT_GITHUB_URL`."""

    github_secret: str = ""
    """Name of a Prefect Secret with GitHub tokens; if empty, they come from the environment. `SWT_GITHUB_SECRET`."""
    git: str = GIT
    """Source of mirrors, with `{repo}` for `owner/name`; if empty, mirrors are not updated. `SWT_GIT`."""
    inbox: Path = field(default_factory=lambda: _home() / "inbox")
    """Folder of the files that parameters of a deployment can name. `SWT_INBOX`."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment variables with keys and addresses of models; model cards give their names."""

    def overridden(
        self, *, sandbox: SandboxKind | None = None, workers: int | None = None, trusted: bool = False
    ) -> Settings:
        """Returns these settings with the overrides of a command line."""
        return replace(
            self,
            sandbox=sandbox or self.sandbox,
            workers=workers or self.workers,
            trusted=trusted or self.trusted,
        )

    @property
    def sql(self) -> Path:
        return RESOURCES / "sql"

    @property
    def reports(self) -> Path:
        """Folder of reports and of all outputs that parameters of a deployment name."""
        return self.database.parent / "report"

    @property
    def places(self) -> Places:
        return Places(
            store=self.store, cache=self.cache, recipes=RESOURCES / "data" / "environments", scratch=self.scratch
        )


def _home() -> Path:
    """Default folder for data: `data/` of the checkout, or of the working folder if the package is installed."""
    return (PROJECT if RESOURCES == PROJECT else Path.cwd()) / "data"


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read settings from `SWT_*` variables. Raises `BadInput` that names the wrong variable."""
    defaults = Settings()
    return Settings(
        store=environ.get("SWT_STORE", defaults.store),
        leases=environ.get("SWT_LEASES", ""),
        lease_s=_positive("SWT_LEASE_S", environ.get("SWT_LEASE_S", str(defaults.lease_s))),
        cache=Path(environ.get("SWT_CACHE", defaults.cache)).resolve(),
        database=Path(environ.get("SWT_DATABASE", defaults.database)).absolute(),
        scratch=Path(environ.get("SWT_SCRATCH", defaults.scratch)).absolute(),
        sandbox=_sandbox(environ.get("SWT_SANDBOX", "auto")),
        trusted=_yes("SWT_TRUSTED", environ.get("SWT_TRUSTED", "")),
        open_server=_yes("SWT_OPEN_SERVER", environ.get("SWT_OPEN_SERVER", "")),
        github=environ.get("SWT_GITHUB_URL", defaults.github),
        github_secret=environ.get("SWT_GITHUB_SECRET", ""),
        git=_git(environ.get("SWT_GIT", GIT)),
        inbox=Path(environ.get("SWT_INBOX", defaults.inbox)).absolute(),
        environ=dict(environ),
        limits=Limits(
            wall_s=float(_positive("SWT_WALL_S", environ.get("SWT_WALL_S", f"{defaults.limits.wall_s:.0f}")))
        ),
        workers=_positive("SWT_WORKERS", environ.get("SWT_WORKERS", str(defaults.workers))),
        callers=_positive("SWT_CALLERS", environ.get("SWT_CALLERS", str(defaults.callers))),
        own_models=_file("SWT_MODELS", environ.get("SWT_MODELS", "")),
    )


def settings_here(environ: Mapping[str, str]) -> Settings:
    """`settings_from`, for a process that does work: also opens the coordination session that claims work."""
    settings = settings_from(environ)
    open_session(settings.leases, lease_s=settings.lease_s)
    return settings


def scratch_folder(memory: Path) -> Path:
    """Returns this user's folder in `memory`, an in-memory file system, if it exists and has room; else in the system's
    temporary folder."""
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM
    return (memory if roomy else Path(tempfile.gettempdir())) / f"swt-{os.getuid()}"


def _sandbox(name: str) -> SandboxKind | None:
    if name == "auto":
        return None
    try:
        return SandboxKind(name)
    except ValueError:
        kinds = ", ".join(["auto", *SandboxKind])
        raise BadInput(f"SWT_SANDBOX is {name!r}", hint=f"one of {kinds}") from None


def _git(template: str) -> str:
    if template and PLACE not in template:
        raise BadInput(f"SWT_GIT is {template!r}, without {PLACE}", hint=f"for example {GIT}")
    try:
        return template and source_of(template, RepoName("owner/name")) and template
    except BadInput as error:
        raise BadInput(f"SWT_GIT is {template!r}: {error}", hint=error.hint) from error


def _file(name: str, text: str) -> Path | None:
    if not text:
        return None
    try:
        return regular_file(Path(text).expanduser()).absolute()
    except UsageError as error:
        hint = "name a TOML file; docs/models.md shows one"
        raise BadInput(f"{name} is {text!r}: {error}", hint=hint) from error


def _yes(name: str, text: str) -> bool:
    if text.lower() not in ("", "0", "no", "false", "1", "yes", "true"):
        raise BadInput(f"{name} is {text!r}", hint="1 or 0")
    return text.lower() in ("1", "yes", "true")


def _positive(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise BadInput(f"{name} is {text!r}", hint="a whole number above zero")
    return int(text)
