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
"""What the package `flows` lies in: a checkout, or site-packages."""

INSTALLED = PROJECT / "flows" / "resources"
"""What a checkout has in `sql/` and `data/`, as the wheel holds it (setup.py)."""

RESOURCES = INSTALLED if INSTALLED.is_dir() else PROJECT
"""The folder that `sql/` and the bundled part of `data/` are read from."""

GIT = f"https://github.com/{PLACE}.git"

ROOM = 8 << 30
"""Free bytes that make memory fit for scratch: some trees of 70 MB, and what their runs may write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things are, and how much may run at once."""

    store: str = field(default_factory=lambda: str(_home() / "store"))
    """Root of the warehouse: a folder or any URL that pyarrow knows. `SWT_STORE`."""
    leases: str = field(default="", repr=False)
    """`postgresql://…` where machines share the store and claim work (tasks/adapters/coordination/). Empty on a
    machine that works alone. `SWT_LEASES`."""
    lease_s: int = 60
    """Seconds of a lease: so long what a machine that died was at is left alone. `SWT_LEASE_S`, the same for all."""
    cache: Path = field(default_factory=lambda: _home() / "cache")
    """What can be made again: mirrors, environments, packed trees; links followed, for it is seen in containers under
    the same name. `SWT_CACHE`."""
    database: Path = field(default_factory=lambda: _home() / "swt.duckdb")
    """The DuckDB file of views. `SWT_DATABASE`."""
    scratch: Path = field(default_factory=lambda: scratch_folder(Path("/dev/shm")))  # noqa: S108 - ours alone
    """Trees and private folders of runs under way; in memory where there is room. `SWT_SCRATCH`."""
    sandbox: SandboxKind | None = None
    """Null picks the first that is available. `SWT_SANDBOX`."""
    open_server: bool = False
    """Whether a worker does flow runs of a Prefect server that asks for no password. `SWT_OPEN_SERVER`."""
    trusted: bool = False
    """Whether the code under test may run in a sandbox that isolates nothing. `SWT_TRUSTED`."""
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Test processes at once. `SWT_WORKERS`."""
    callers: int = 8
    """Methods at work with a model at once; the model's provider has a limit of its own. `SWT_CALLERS`."""
    models: Path = RESOURCES / "data"
    """Folder of the bundled models.toml and prices.toml."""
    own_models: Path | None = None
    """File of one's own cards and prices, which go before the bundled ones (docs/models.md). `SWT_MODELS`."""
    limits: Limits = field(default_factory=Limits)
    """Of one test run. Runs under other limits are other runs. `SWT_WALL_S` has the seconds; where a test hangs, all
    runs of its instance take as long as that."""
    github: str = "https://api.github.com/graphql"
    """Where GitHub's GraphQL answers. `SWT_GITHUB_URL`."""

    github_secret: str = ""
    """Name of a Prefect Secret with GitHub tokens; empty reads the environment. `SWT_GITHUB_SECRET`."""
    git: str = GIT
    """Where mirrors are copied from, with `{repo}` for `owner/name`; empty: mirrors stay as they are. `SWT_GIT`."""
    inbox: Path = field(default_factory=lambda: _home() / "inbox")
    """Folder of the files that a deployment's parameters may name. `SWT_INBOX`."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where keys and addresses of models are read from, by the names that their cards give them."""

    def overridden(
        self, *, sandbox: SandboxKind | None = None, workers: int | None = None, trusted: bool = False
    ) -> Settings:
        """These settings with what a command line says differently."""
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
        """Folder that reports are written to, and all outputs that a deployment's parameters name."""
        return self.database.parent / "report"

    @property
    def places(self) -> Places:
        return Places(
            store=self.store, cache=self.cache, recipes=RESOURCES / "data" / "environments", scratch=self.scratch
        )


def _home() -> Path:
    """Where what people make is kept: the `data/` of the checkout; installed, that of the working folder."""
    return (PROJECT if RESOURCES == PROJECT else Path.cwd()) / "data"


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Settings from `SWT_*` variables; `BadInput` names the one that is wrong."""
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
    """`settings_from`, for a process that is about to work by them: it claims what it works on where they say."""
    settings = settings_from(environ)
    open_session(settings.leases, lease_s=settings.lease_s)
    return settings


def scratch_folder(memory: Path) -> Path:
    """A folder of this user's in `memory`, a file system without a disk, if it is there and has room; else in /tmp."""
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
