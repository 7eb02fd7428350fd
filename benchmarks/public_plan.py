"""The public harness's way to judge one candidate, rebuilt from its published facts: six runs, each from scratch.

{no suite, golden suite, candidate} × {before, after}. Each run gets a fresh checkout at /testbed, installs the project
again, applies its patches and runs the repository's own test command under a line tracer on `sys.settrace` that counts
the files of the golden patch. Where the original leaves a choice, the cheaper one is taken:

- containers are not counted, nor checkouts and patches: only the install and the test process are;
- pip neither looks for dependencies nor builds in isolation;
- the tracer is smaller than the original's and does not follow child processes;
- sympy gets a hash seed, without which its `bin/test` starts itself a second time.

Candidates are not trusted: both processes run under bubblewrap, without network, this machine read-only.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchmarks.inside import SPENT, TRACER
from benchmarks.measured import Cost, cost_of
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.apply import apply_patch
from tasks.adapters.patch.model import Refused
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.candidate import Suite
from tasks.domain.instance import TaskInstance
from tasks.domain.outcome import CodeState, RunnerKind, SuiteKind

TESTBED = "/testbed"
TIMEOUT_S = 1800.0
BUILD_TOOLS = ("setuptools<70", "wheel", "setuptools_scm<9")
"""For projects that build with them; CPython 3.6 brings what Django's `setup.py` needs."""
ENV = {
    "HOME": "/tmp",  # noqa: S108 - inside
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicRun:
    """What one of the six runs cost."""

    suite: SuiteKind
    state: CodeState
    install: Cost
    test: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPlan:
    """Everything that the six runs of one candidate need."""

    instance: TaskInstance
    golden: Suite
    candidate: Suite
    watched: tuple[str, ...]
    """Python files of the golden patch."""
    built: BuiltEnvironment
    python: Path
    """Interpreter of the throw-away environment: see `throwaway`."""
    trees: Trees
    scratch: Path

    def runs(self) -> Iterator[PublicRun]:
        """All six, one after the other."""
        for kind in (SuiteKind.CANDIDATE, SuiteKind.GOLDEN, SuiteKind.NONE):
            for state in CodeState:
                yield self._run(kind, state)

    def _run(self, kind: SuiteKind, state: CodeState) -> PublicRun:
        suite = {SuiteKind.GOLDEN: self.golden, SuiteKind.CANDIDATE: self.candidate}.get(kind)
        with _folder(self.scratch) as checkout:
            self.trees.checkout(self.instance.repo, self.instance.base_commit, checkout)
            for file in self.built.generated:
                (checkout / file.path).write_text(file.text, encoding="utf-8")
            log = self.scratch / f"{self.instance.instance_id}.{kind}.{state}.log"
            install = self._guarded(checkout, log, ("-m", "pip", *_install(), TESTBED))
            if install.exit_code:
                raise SystemExit(f"{self.instance.instance_id}: the install step failed; see {log}")
            for patch in ((self.instance.patch,) if state is CodeState.AFTER else ()) + (
                (suite.patch,) if suite else ()
            ):
                if isinstance(applied := apply_patch(checkout, patch), Refused):
                    raise ValueError(f"{self.instance.instance_id}: {applied.reason}: {applied.detail}")
            test = self._guarded(checkout, log, self._traced((suite or self.candidate).files))
        return PublicRun(suite=kind, state=state, install=install, test=test)

    def _traced(self, files: tuple[str, ...]) -> tuple[str, ...]:
        watched = tuple(f"{TESTBED}/{path}" for path in self.watched)
        command = test_command(self.built.environment.runner, self.instance.repo, files)
        return (str(TRACER), "/tmp/coverage.cover", *watched, "--", *command)  # noqa: S108 - inside

    def _guarded(self, checkout: Path, log: Path, arguments: tuple[str, ...]) -> Cost:
        version = _version(self.built, self.instance)
        env = ENV | dict(pair.split("=", 1) for pair in self.built.environment.env)
        env |= {"SETUPTOOLS_SCM_PRETEND_VERSION": version} if version else {}
        spent = self.python.parents[1] / "spent"
        counted = (str(self.built.interpreter.path), "-I", "-S", str(SPENT), str(spent))
        argv = (*guard(checkout, self.python.parents[1]), *counted, str(self.python), *arguments)
        outside = cost_of(argv, env=env, log=log, timeout=TIMEOUT_S)
        return Cost(cpu_s=float(spent.read_text()), exit_code=outside.exit_code)


def test_command(runner: RunnerKind, repo: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """The repository's own test command as Python runs it, with its settings in the public harness."""
    if runner is RunnerKind.DJANGO:
        settings = ("--verbosity", "2", "--settings=test_sqlite", "--parallel", "1")
        return ("./tests/runtests.py", *settings, *map(django_label, files))
    if runner is RunnerKind.SYMPY:
        return ("bin/test", "-C", "--verbose", *files)
    own = () if repo == "pytest-dev/pytest" else ("--no-header", "-p", "no:cacheprovider")
    return ("-m", "pytest", "-rA", *own, *files)


def django_label(path: str) -> str:
    """`tests/app/test_a.py` → `app.test_a`."""
    return ".".join(PurePosixPath(path.removeprefix("tests/")).with_suffix("").parts)


def throwaway(built: BuiltEnvironment, root: Path, log: Path) -> Path:
    """A virtual environment of its own on top of `built`, with pip and build tools, that installs may write to."""
    python = root / "bin" / "python"
    if not python.exists():
        cost_of((str(built.interpreter.path), "-m", "venv", str(root)), log=log, timeout=TIMEOUT_S)
        if built.interpreter.number >= (3, 7):
            cost_of((str(python), "-m", "pip", "install", "-U", *BUILD_TOOLS), log=log, timeout=TIMEOUT_S)
        (site,) = root.glob("lib/python*/site-packages")
        (below,) = built.root.glob("lib/python*/site-packages")
        (site / "below.pth").write_text(f"{below}\n")
    return python


def guard(checkout: Path, environment: Path) -> tuple[str, ...]:
    """bwrap's arguments: everything read-only but the checkout at /testbed, the environment and an empty /tmp."""
    words = ["bwrap", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"]
    words += ["--tmpfs", "/"]
    for folder in sorted(path for path in Path("/").iterdir() if path.name not in ("tmp", "proc", "dev", "testbed")):
        words += ["--ro-bind", str(folder), str(folder)]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - inside
    words += ["--bind", str(environment), str(environment), "--bind", str(checkout), TESTBED, "--chdir", TESTBED]
    return tuple(words)


def _install() -> tuple[str, ...]:
    quiet = ("--disable-pip-version-check", "--no-index")
    return ("install", *quiet, "--no-deps", "--no-build-isolation", "-e")


def _version(built: BuiltEnvironment, instance: TaskInstance) -> str:
    """The project's version where its metadata is in the environment: there is no git history to make it from."""
    name = instance.repo.partition("/")[2]
    found = built.root.glob(f"lib/python*/site-packages/{name}-*.dist-info")
    return next((path.name.removesuffix(".dist-info").partition("-")[2] for path in found), "")


@contextmanager
def _folder(scratch: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="public-", dir=scratch))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
